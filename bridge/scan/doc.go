// Package scan reads text that tools returned and makes it fit to be shown, stored or sent to a model: it makes invisible characters
// visible, warns of injected instructions, wraps text in a marker that it cannot close, and cuts it to size. Secrets are for package
// redact below it.
//
// Nothing here decides anything. An injection in plain words scores nothing: the score is a warning, and what stops an attack is
// package policy.
//
// The injection scan reads a text as it is, in NFKC with look-alikes and marks folded, without invisible characters and tags, and decoded
// once from base64, hex, URL, source and HTML escapes. testdata/injection.txt says what it finds and where it errs, kind by kind.
//
// All functions are pure, and safe for concurrent use.
package scan
