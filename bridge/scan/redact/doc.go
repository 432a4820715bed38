// Package redact hides secrets in text that tools returned and in what is stored or shown of it: the values that a run knows, in every
// encoding that a program may put them in, the shapes that secrets of known kinds have, and the parameters that are declared sensitive.
//
// A secret in a shape that nobody described passes, as does one that is cut in two, encrypted or encoded twice. Redaction keeps secrets
// out of files and prompts: what keeps them from being sent is the gate `secrets` of package bridge.
//
// All functions are pure, and safe for concurrent use.
package redact
