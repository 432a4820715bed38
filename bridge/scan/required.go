package scan

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
)

// required lists words of which at least one stands in everything that the expression matches, nil if no such list is known. A rule
// looks for them behind its key before it runs its expression: a search for a word is a hundred times cheaper.
//
// Preconditions: text compiles, and case counts in it.
func required(text string) []string {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil // so that MustCompile, later, says why
	}
	return wordsOf(re).best()
}

// Bounds on the words of one rule: more of them, or shorter ones, are dearer to look for than they save.
const (
	maxWords = 96
	minWord  = 3 // bytes
)

// texts is what is known of the texts that an expression matches.
type texts struct {
	exact []string // all of them; nil if there are too many
	need  []string // each holds one of these; nil if nothing is known
}

// best is the better of both lists.
func (w texts) best() []string { return better(usable(slices.Clone(w.exact)), w.need) }

// usable leaves out the words that hold another of the list.
func usable(list []string) (out []string) {
	if len(list) == 0 || shortest(list) < minWord {
		return nil
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, w := range list {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.Contains(w, o) }) {
			out = append(out, w)
		}
	}
	if len(out) > maxWords {
		return nil
	}
	return out
}

func shortest(list []string) int {
	n := len(list[0])
	for _, w := range list {
		n = min(n, len(w))
	}
	return n
}

// better prefers longer words, then fewer.
func better(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil || shortest(a) > shortest(b) || shortest(a) == shortest(b) && len(a) <= len(b):
		return a
	}
	return b
}

func wordsOf(re *syntax.Regexp) texts {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return texts{exact: []string{string(re.Rune)}}
		}
	case syntax.OpCharClass:
		return classWords(re.Rune)
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return texts{exact: []string{""}}
	case syntax.OpCapture:
		return wordsOf(re.Sub[0])
	case syntax.OpPlus:
		return texts{need: wordsOf(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return texts{need: wordsOf(re.Sub[0]).best()}
		}
	case syntax.OpQuest:
		if sub := wordsOf(re.Sub[0]); sub.exact != nil {
			return texts{exact: append([]string{""}, sub.exact...)}
		}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return texts{}
}

// classWords lists the characters of a small class.
func classWords(pairs []rune) texts {
	var w texts
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1]-pairs[i] >= maxWords-rune(len(w.exact)) {
			return texts{}
		}
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			w.exact = append(w.exact, string(r))
		}
	}
	return w
}

// concat joins the exact words of neighbours as long as there are few. What an expression begins with counts least, since its key
// stands there already.
func concat(subs []*syntax.Regexp) texts {
	exact, begin := []string{""}, true
	var first, need []string
	end := func() {
		if list := usable(slices.Clone(exact)); begin {
			first = list
		} else {
			need = better(need, list)
		}
		exact, begin = []string{""}, false
	}
	for _, sub := range subs {
		w := wordsOf(sub)
		if w.exact == nil {
			if begin && exact[0] == "" {
				exact, w.need = w.need, nil
			}
			end()
			need = better(need, w.need)
			continue
		}
		if len(exact)*len(w.exact) > maxWords {
			end()
		}
		exact = cross(exact, w.exact)
	}
	if begin {
		return texts{exact: exact}
	}
	end()
	if need == nil {
		need = first
	}
	return texts{need: need}
}

func cross(a, b []string) []string {
	out := make([]string, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x+y)
		}
	}
	return out
}

// alternate joins the words of all branches, if each has some.
func alternate(subs []*syntax.Regexp) texts {
	var all texts
	exactly, some := true, true
	for _, sub := range subs {
		w := wordsOf(sub)
		best := w.best()
		exactly, some = exactly && w.exact != nil, some && best != nil
		all.exact, all.need = append(all.exact, w.exact...), append(all.need, best...)
	}
	if !exactly || len(all.exact) > maxWords {
		all.exact = nil
	}
	if all.need = usable(all.need); !some {
		all.need = nil
	}
	return all
}
