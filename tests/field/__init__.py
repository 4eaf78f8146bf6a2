"""Cases from the field: small inputs behind public bug reports."""
