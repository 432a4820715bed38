package tools

// What property tests look at by itself.
var (
	CutLines   = cutLines
	WholeRunes = wholeRunes
	Decoded    = decoded
	Contains   = contains
)
