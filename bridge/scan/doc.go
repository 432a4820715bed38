// Package scan reads text that tools returned and makes it fit to be shown, stored or sent to a model: it redacts secrets, makes
// invisible characters visible, warns of injected instructions, wraps text in a marker that it cannot close, and cuts it to size.
//
// Nothing here decides anything. A secret in a shape that nobody described passes, as does one that is cut in two, encrypted or
// encoded twice; an injection in plain words scores nothing. Redaction keeps secrets out of files, the injection score is a warning:
// what stops an attack is package policy.
//
// The injection scan reads a text as it is, in NFKC with look-alikes and marks folded, without invisible characters and tags, and decoded
// once from base64, hex, URL, source and HTML escapes. testdata/injection.txt says what it finds and where it errs, kind by kind.
//
// All functions are pure, and safe for concurrent use.
package scan
