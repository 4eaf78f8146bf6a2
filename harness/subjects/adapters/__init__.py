"""Operations of other frameworks as subjects: one file each, imported only when it is asked for."""
