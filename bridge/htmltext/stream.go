package htmltext

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A streamer renders a page from its tokens, without a tree, as long as the page is written so plainly that the tree would hold each
// element where its tags stand: every rule of the HTML standard by which a parser closes, opens, moves or ignores elements is either
// followed here to the letter, or makes the streamer give up. Then the page is parsed. TestStreamEqualsTree and FuzzText compare both.
type streamer struct {
	z     *html.Tokenizer
	r     *renderer
	stack []open // from body on
	state state
	html  bool // its tag was read
	title bool // one was written
	mute  bool // html is hidden
	blind bool // head is hidden
	form  bool // a form was opened and not closed by its end tag
	attr  []html.Attribute
}

// open is an element on the stack.
type open struct {
	atom  atom.Atom
	kind  kind
	name  string // of an element without an atom
	muted bool   // neither it nor what it holds is seen
	inP   bool   // a paragraph is open here that a block would close
	fresh bool   // nothing stands in it yet
	flow  uint8  // how many elements of it and around it are of a kind that must not be open twice
}

type state uint8

const (
	beforeHead state = iota
	inHead
	afterHead
	inBody
	afterBody
)

// maxStream is how many open elements the streamer follows; the parser says what is too deep.
const maxStream = maxDepth - 16

// stream renders src. It reports false if the page is not plain.
func stream(src []byte) (*renderer, bool) {
	if bytes.IndexByte(src, 0) >= 0 {
		return nil, false
	}
	s := &streamer{z: html.NewTokenizer(bytes.NewReader(src)), r: new(renderer)}
	for {
		t := s.z.Next()
		if t == html.ErrorToken {
			if s.z.Err() != io.EOF {
				return nil, false
			}
			break
		}
		if !s.token(t) {
			return nil, false
		}
	}
	for len(s.stack) > 0 {
		s.pop()
	}
	return s.r, true
}

// token reads one token, and reports that it was plain.
func (s *streamer) token(t html.TokenType) bool {
	switch t {
	case html.TextToken:
		return s.text(s.z.Text())
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := s.z.TagName()
		a := atom.Lookup(name)
		full := ""
		if a == 0 {
			full = string(name)
		}
		s.attributes(more)
		return s.start(a, full, t == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := s.z.TagName()
		return s.end(atom.Lookup(name), name)
	case html.CommentToken:
		if s.state == inBody {
			s.top().fresh = false
			s.r.conceal(string(s.z.Text()))
		}
		return true
	case html.DoctypeToken:
		return s.state == beforeHead && !s.html
	}
	return false
}

// attributes keeps those that matter to the renderer.
func (s *streamer) attributes(more bool) {
	s.attr = s.attr[:0]
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch string(key) {
		case "hidden", "aria-hidden", "style", "open", "href", "alt", "start":
			s.attr = append(s.attr, html.Attribute{Key: string(key), Val: string(value)})
		}
	}
}

func (s *streamer) text(b []byte) bool {
	blank := len(bytes.TrimLeft(b, " \t\r\n\f")) == 0
	switch {
	case len(b) == 0:
		return true
	case s.state == afterBody:
		return blank
	case s.state < inBody && blank:
		return true
	case s.state < inBody:
		b = bytes.TrimLeft(b, " \t\r\n\f")
		s.body()
	}
	top := s.top()
	if top.kind&isFrame != 0 && !blank {
		return false
	}
	if (top.atom == atom.Pre || top.atom == atom.Textarea) && top.fresh {
		if b = bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("\r")), []byte("\n")); len(b) == 0 {
			return true
		}
	}
	if top.fresh = false; top.muted {
		s.r.conceal(string(b))
	} else {
		s.r.out.text(string(b))
	}
	return true
}

// body opens the body that the page did not.
func (s *streamer) body() {
	s.state = inBody
	s.attr = s.attr[:0]
	s.push(atom.Body, "")
}

func (s *streamer) top() *open { return &s.stack[len(s.stack)-1] }

// is reports that the innermost open element is one of these.
func (s *streamer) is(atoms ...atom.Atom) bool {
	for _, a := range atoms {
		if s.top().atom == a {
			return true
		}
	}
	return false
}

// push opens an element inside the innermost one.
func (s *streamer) push(a atom.Atom, name string) {
	n := open{atom: a, kind: kinds[a], name: name, muted: s.mute, fresh: true}
	if len(s.stack) > 0 {
		top := s.top()
		top.fresh = false
		n.muted, n.inP, n.flow = top.muted, top.inP, top.flow
	}
	switch a {
	case atom.P:
		n.inP = true
	case atom.Button, atom.Table, atom.Caption, atom.Td, atom.Th:
		n.inP = false
	}
	n.flow |= once(a)
	n.muted = n.muted || !s.r.enter(element{a, s.attr})
	s.stack = append(s.stack, n)
}

func (s *streamer) pop() {
	top := s.top()
	if !top.muted {
		s.r.leave(top.atom)
	}
	s.stack = s.stack[:len(s.stack)-1]
}

// void writes an element that holds nothing.
func (s *streamer) void(a atom.Atom) bool {
	top := s.top()
	top.fresh = false
	if e := (element{a, s.attr}); !top.muted && s.r.enter(e) {
		s.r.leave(a)
	}
	return true
}

// raw skips an element that no reader sees, up to its end tag: the tokenizer takes what it holds for text.
func (s *streamer) raw(a atom.Atom) bool {
	if len(s.stack) > 0 {
		s.top().fresh = false
	}
	text, ok := s.rawText(a)
	if s.state == inBody && a != atom.Script && a != atom.Style {
		s.r.conceal(text)
	}
	return ok
}

// rawText reads an element that holds only text, and its end tag.
func (s *streamer) rawText(a atom.Atom) (string, bool) {
	text := ""
	for {
		switch s.z.Next() {
		case html.TextToken:
			text += string(s.z.Text())
		case html.EndTagToken:
			name, _ := s.z.TagName()
			return text, atom.Lookup(name) == a
		default: // the page ends here, or says something that is not text
			return "", false
		}
	}
}

// closeP closes a paragraph before a block. It reports false if something inside the paragraph is open.
func (s *streamer) closeP() bool {
	if !s.top().inP {
		return true
	}
	if !s.is(atom.P) {
		return false
	}
	s.pop()
	return true
}

// closeImplied closes what needs no end tag.
func (s *streamer) closeImplied() {
	for s.top().kind&isImplied != 0 {
		s.pop()
	}
}

// svg skips a drawing. Elements that a parser would take out of it make it give up.
func (s *streamer) svg() bool {
	s.z.AllowCDATA(true)
	defer s.z.AllowCDATA(false)
	names := []string{"svg"}
	for len(names) > 0 {
		switch t := s.z.Next(); t {
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := s.z.TagName()
			if !svgNames[string(name)] {
				return false
			}
			s.z.NextIsNotRawText()
			if names[len(names)-1] == "title" {
				return false
			}
			if t == html.StartTagToken {
				names = append(names, string(name))
			}
			if len(names)+len(s.stack) > maxStream {
				return false
			}
		case html.EndTagToken:
			name, _ := s.z.TagName()
			if string(name) != names[len(names)-1] {
				return false
			}
			names = names[:len(names)-1]
		case html.TextToken, html.CommentToken:
			if names[len(names)-1] != "title" {
				s.r.conceal(string(s.z.Text()))
			}
		default:
			return false
		}
	}
	return true
}

// sameName compares an end tag with an open element.
func (n *open) sameName(a atom.Atom, name []byte) bool {
	return n.atom == a && (a != 0 || strings.EqualFold(n.name, string(name)))
}
