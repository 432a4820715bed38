// Package match reads text: which values a person wrote, and what data a tool wrote.
// It compares whole tokens in one folded form, so that a value is found inside no
// longer word, address, number or look-alike.
//
// It knows nothing of trust. That a value stands in a text means nothing until
// package policy has settled who wrote that text; and what ReadData returns is as
// hostile as the text was.
package match
