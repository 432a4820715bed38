// Package redact hides secrets in text that tools returned and in what is stored or shown of it: the values that a run knows, in every
// encoding that a program may put them in, the shapes that secrets of known kinds have, and the parameters that are declared sensitive.
//
// A secret in a shape that nobody described passes, as does one that is cut in two or encrypted. Redaction keeps secrets out of files
// and prompts, and reads results as they are: one that is encoded twice, or written with something in between, is not redacted. What
// keeps secrets from being sent, and out of code, is the gate `secrets` of package bridge, by HasKnown and HighConfidence, which undo
// such writings first.
//
// All functions are pure, and safe for concurrent use.
package redact
