// Package policy judges one call of one tool.
//
// It is pure: no I/O, no clock, no state. The same [Request] always gets the
// same [Decision]; that is what makes replay, and "what would this policy have
// said?", possible.
//
// It enforces nothing. A Decision is advice until package bridge acts on it,
// and it is only as true as the facts that the bridge put into the Request.
package policy
