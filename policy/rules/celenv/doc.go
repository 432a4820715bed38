// Package celenv is what an expression of a rule can see and call: the facts of a
// [policy.Request] as typed CEL variables, and a few pure functions. A field that is
// not there is a compile error; a fact that has no value for this call is an error
// when it is read, never a default.
//
// It offers no way to the world: no network, files, environment or clock. What it
// shows is as true as the request.
package celenv
