package words

// Lower is b in lower case. Other letters than those of ASCII are left alone.
func Lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// Letter reports a Latin letter.
func Letter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// In reports what a Latin word is made of: a letter, a digit or an underscore.
func In(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= Lower(b) && Lower(b) <= 'z'
}

// inWord is In as a table.
var inWord = func() (t [256]bool) {
	for c := range t {
		t[c] = In(byte(c))
	}
	return t
}()

func asciiLower(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = Lower(b[i])
	}
	return string(b)
}
