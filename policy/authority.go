package policy

// An Authority is what the user and the operator named.
type Authority struct{}
