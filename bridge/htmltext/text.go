// Package htmltext turns HTML into the text that a reader would see.
//
// It leaves out what a page hides from its reader (comments, scripts, hidden, invisible or displaced elements), since that is where
// orders to a model are put. It knows only what an element says of itself: style sheets are not applied, so a class can still hide
// text, and white on white across elements is not seen. What it returns is as untrusted as the page was.
//
// The package is pure; its functions are safe for concurrent use.
package htmltext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxSize  = 10 << 20 // bytes
	maxDepth = 512      // levels; the parser stops there, so that nested elements cannot cost the square of their number

	maxHref = 2 << 10 // bytes; a longer address is data, not a place
)

// A Page is what an HTML page says.
type Page struct {
	Text   string // as a reader sees it
	Hidden string // what the body says in comments and in elements that are not shown, one a line, up to 64 KiB; code is left out
}

// Text is the Text of Read.
func Text(htmlSrc []byte) (string, error) {
	p, err := Read(htmlSrc)
	return p.Text, err
}

// Read renders htmlSrc, which is UTF-8. Links become `text (address)`, images `[image: alternative text]`; headings, lists, tables
// and preformatted text stay readable; entities are decoded once. More than 10 MiB or 512 levels is an error.
//
// Hidden is for a scanner that wants to know what a page hides: it must not be shown to a model.
func Read(htmlSrc []byte) (Page, error) {
	if len(htmlSrc) > maxSize {
		return Page{}, fmt.Errorf("htmltext: %d bytes: more than %d; fetch a smaller page or save it to a file", len(htmlSrc), maxSize)
	}
	r, plain := stream(htmlSrc)
	if !plain {
		var err error
		if r, err = tree(htmlSrc); err != nil {
			return Page{}, err
		}
	}
	return Page{valid(r.out.String()), valid(r.hidden.String())}, nil
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// tree renders any page.
func tree(src []byte) (*renderer, error) {
	doc, err := html.Parse(bytes.NewReader(src))
	if err != nil {
		return nil, fmt.Errorf("htmltext: the parser stopped, at most %d levels may be nested: %w", maxDepth, err)
	}
	r := new(renderer)
	r.walk(doc)
	return r, nil
}

// An element is what the renderer wants to know of one.
type element struct {
	atom atom.Atom
	attr []html.Attribute
}

// A renderer writes elements and texts as they come.
type renderer struct {
	out    writer
	hidden strings.Builder
	lists  []list // the open ones
	links  []link
	cells  int // of the current table row so far
}

// A link is an open one.
type link struct {
	began int // how long the text was then
	href  string
}

// A list numbers its items from next on, if it is ordered.
type list struct {
	ordered bool
	next    int
}

// walk renders a document, without recursion.
func (r *renderer) walk(root *html.Node) {
	n := root
	for {
		entered := r.enterNode(n)
		if entered && n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		if entered {
			r.leave(n.DataAtom)
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
			r.leave(n.DataAtom)
		}
		if n == root {
			return
		}
		n = n.NextSibling
	}
}

// enterNode writes what stands before the children of n, and reports whether they are to be read.
func (r *renderer) enterNode(n *html.Node) bool {
	switch n.Type {
	case html.TextNode:
		r.out.text(n.Data)
		return false
	case html.DocumentNode:
		return true
	case html.ElementNode:
	case html.CommentNode:
		r.concealNode(n)
		return false
	default: // doctypes
		return false
	}
	e := element{n.DataAtom, n.Attr}
	if n.DataAtom == atom.Head {
		if !hidden(e) {
			r.head(n)
		}
		return false
	}
	if n.Namespace != "svg" && r.enter(e) {
		return true
	}
	for c := range n.Descendants() {
		r.concealNode(c)
	}
	return false
}

// concealNode keeps a comment or a text of the body that is not shown.
func (r *renderer) concealNode(n *html.Node) {
	if n.Type != html.CommentNode && n.Type != html.TextNode {
		return
	}
	switch p := n.Parent; p.DataAtom {
	case atom.Script, atom.Style, atom.Title, atom.Head, atom.Html:
	default:
		if p.Type == html.ElementNode && (p.Parent == nil || p.Parent.DataAtom != atom.Head) {
			r.conceal(n.Data)
		}
	}
}

// maxHidden bounds what is kept of what a page does not show, in bytes.
const maxHidden = 64 << 10

// conceal keeps a text that is not shown.
func (r *renderer) conceal(s string) {
	s = strings.TrimSpace(s)
	if s = s[:min(len(s), max(0, maxHidden-r.hidden.Len()))]; s != "" {
		r.hidden.WriteString(s + "\n")
	}
}

// enter writes what stands before the children of e, and reports whether they are to be read.
func (r *renderer) enter(e element) bool {
	if dropped(e.atom) || hidden(e) {
		return false
	}
	r.out.lines(spacing(e.atom))
	r.open(e)
	return true
}

// dropped reports elements whose content is code, a fallback or another document.
func dropped(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Audio, atom.Video, atom.Canvas,
		atom.Noframes, atom.Noembed, atom.Datalist, atom.Meta, atom.Link, atom.Applet:
		return true
	}
	return false
}

// spacing is the number of newlines before and after an element.
func spacing(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dl, atom.Table, atom.Pre, atom.Blockquote, atom.Hr, atom.Figure,
		atom.Form, atom.Fieldset:
		return 2
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Nav, atom.Main, atom.Aside, atom.Address, atom.Ul, atom.Ol, atom.Li,
		atom.Dt, atom.Dd, atom.Tr, atom.Caption, atom.Figcaption, atom.Details, atom.Summary, atom.Option, atom.Textarea, atom.Body, atom.Legend,
		atom.Center, atom.Dialog:
		return 1
	}
	return 0
}

// open writes the mark with which an element begins.
func (r *renderer) open(e element) {
	switch e.atom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.out.mark(strings.Repeat("#", int(e.atom.String()[1]-'0')) + " ")
	case atom.Br:
		r.out.breakLine()
	case atom.Hr:
		r.out.mark("---")
	case atom.Pre, atom.Textarea, atom.Listing, atom.Xmp:
		r.out.pre++
	case atom.Blockquote:
		r.out.quote++
	case atom.Ul, atom.Ol:
		start, err := strconv.Atoi(e.value("start"))
		if err != nil {
			start = 1
		}
		r.lists = append(r.lists, list{e.atom == atom.Ol, start})
	case atom.Li:
		r.item()
	case atom.Tr:
		r.cells = 0
	case atom.Td, atom.Th:
		if r.cells++; r.cells > 1 {
			r.out.mark(" | ")
		}
	case atom.Img:
		if alt := strings.Join(strings.Fields(e.value("alt")), " "); alt != "" {
			r.out.text("[image: " + alt + "]")
		}
	case atom.A:
		r.links = append(r.links, link{r.out.Len(), e.value("href")})
	}
}

func (r *renderer) item() {
	if len(r.lists) == 0 {
		r.out.mark("- ")
		return
	}
	l := &r.lists[len(r.lists)-1]
	sign := "- "
	if l.ordered {
		sign = strconv.Itoa(l.next) + ". "
		l.next++
	}
	// Deep lists are not indented further, or the indentation would outgrow the page.
	r.out.mark(strings.Repeat("  ", min(len(r.lists)-1, 8)) + sign)
}

// leave writes what stands after the children of an element that was entered.
func (r *renderer) leave(a atom.Atom) {
	switch a {
	case atom.Pre, atom.Textarea, atom.Listing, atom.Xmp:
		r.out.pre--
	case atom.Blockquote:
		r.out.lines(2)
		r.out.quote--
	case atom.Ul, atom.Ol:
		r.lists = r.lists[:len(r.lists)-1]
	case atom.A:
		r.leaveLink()
	}
	r.out.lines(spacing(a))
}

// leaveLink writes the address of a link that has any text.
func (r *renderer) leaveLink() {
	l := r.links[len(r.links)-1]
	r.links = r.links[:len(r.links)-1]
	text := strings.TrimSpace(r.out.String()[l.began:])
	href := strings.Join(strings.Fields(l.href), "")
	scheme, _, _ := strings.Cut(strings.ToLower(href[:min(len(href), len("javascript:"))]), ":")
	switch {
	case text == "" || text == href || href == "" || href[0] == '#' || scheme == "javascript":
	case scheme == "data" || len(href) > maxHref:
		r.out.text(" (address of " + strconv.Itoa(len(href)) + " bytes)")
	default:
		r.out.text(" (" + href + ")")
	}
}

// head writes the first title in the head, which is all of it that a reader sees.
func (r *renderer) head(head *html.Node) {
	for c := head.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Title && c.FirstChild != nil {
			r.title(c.FirstChild.Data)
			return
		}
	}
}

func (r *renderer) title(text string) {
	r.out.text(text)
	r.out.lines(2)
}

// value is that of the first attribute of the name.
func (e element) value(name string) string {
	for _, a := range e.attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}
