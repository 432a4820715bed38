// Package rules compiles policy files and judges calls by them. A rule is a CEL
// expression that must hold, over the same [policy.Request] that the other gates
// see; a rule that cannot be evaluated denies.
//
// A rule is only as good as whoever wrote it: Compile proves that it is well formed
// and that its examples hold, not that it forbids what its author feared. Without
// files there is no objection to anything.
package rules
