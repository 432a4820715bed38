package shellrisk

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A kind says how much of a word the text tells.
type kind int

const (
	open    kind = iota // holds an expansion: may become anything, or several words
	pattern             // holds a glob or a brace: becomes names below what it says
	plain
)

// A word is one argument, unquoted.
type word struct {
	text string // $NAME stands for an expansion of NAME, \x00 for any other
	bare string // text without expansions: what is left when they are empty
	kind kind
}

func literal(s string) word { return word{text: s, bare: s, kind: plain} }

// fedWord stands for operands that another program hands over.
var fedWord = word{text: "{}", bare: "{}", kind: pattern}

func read(w *syntax.Word) word {
	out := word{kind: plain}
	if w != nil {
		out.parts(w.Parts, false)
	}
	return out
}

func (w *word) parts(parts []syntax.WordPart, quoted bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			w.lit(p.Value, quoted)
		case *syntax.SglQuoted:
			w.add(p.Value)
		case *syntax.DblQuoted:
			w.parts(p.Parts, true)
		case *syntax.ParamExp:
			w.kind = open
			if w.text += "\x00"; p.Param != nil {
				w.text = strings.TrimSuffix(w.text, "\x00") + "$" + p.Param.Value
			}
		case *syntax.ExtGlob:
			w.kind = min(w.kind, pattern)
			w.add("*")
		default:
			w.kind = open
			w.text += "\x00"
		}
	}
}

func (w *word) add(s string) { w.text, w.bare = w.text+s, w.bare+s }

// lit adds text that may hold backslashes and, outside of quotes, patterns.
func (w *word) lit(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
		case !quoted && special(s[i:]):
			w.kind = min(w.kind, pattern)
		}
		w.add(s[i : i+1])
	}
}

// special reports text that begins with a glob or a brace. A bracket without its partner is a plain letter; so is {}.
func special(s string) bool {
	switch s[0] {
	case '*', '?':
		return true
	case '[':
		return strings.Contains(s, "]")
	case '{':
		return strings.Contains(s, "}") && (strings.Contains(s, ",") || strings.Contains(s, ".."))
	}
	return false
}

// clean is a path without `.`, `..` and doubled slashes, as far as the text tells.
func clean(p string) string {
	if p == "" {
		return p
	}
	return path.Clean(p)
}

// stem is the path above a pattern that takes everything in it: / for `/*`, . for `*` and `.*`, /etc for `/etc/{*,.*}`.
func stem(text string) string {
	parts := strings.Split(text, "/")
	for len(parts) > 0 && strings.Trim(parts[len(parts)-1], "*?.[]^!{},$") == "" && strings.ContainsAny(parts[len(parts)-1], "*?[") {
		parts = parts[:len(parts)-1]
	}
	switch out := strings.Join(parts, "/"); {
	case len(parts) == 0:
		return "."
	case out == "":
		return "/"
	default:
		return clean(out)
	}
}

// wholesale reports a path that is a whole machine, home, workspace or system directory, or all that is in it.
func wholesale(w word) bool {
	if w.kind == open && strings.Contains(w.bare, "/") && stem(w.bare) == "/" {
		return true // "$DIR"/* with an empty DIR
	}
	p := stem(w.text)
	switch p {
	case ".", "..", "~", "~+", "~-", "$HOME", "$PWD", "$OLDPWD":
		return true
	}
	if strings.HasPrefix(p, "../") {
		return strings.Trim(p, "./") == ""
	}
	if strings.HasPrefix(p, "~") {
		return !strings.Contains(p, "/") // ~someone
	}
	if !strings.HasPrefix(p, "/") {
		return false
	}
	top, rest, nested := strings.Cut(p[1:], "/")
	if !nested {
		return true
	}
	switch top { // directories whose parts are as much
	case "home", "Users", "usr", "var", "System", "Library", "mnt", "media":
		return !strings.Contains(rest, "/")
	}
	return false
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
