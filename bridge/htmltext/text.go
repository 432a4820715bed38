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

// Text renders htmlSrc, which is UTF-8. Links become `text (address)`, images `[image: alternative text]`; headings, lists, tables
// and preformatted text stay readable; entities are decoded once. More than 10 MiB or 512 levels is an error.
func Text(htmlSrc []byte) (string, error) {
	if len(htmlSrc) > maxSize {
		return "", fmt.Errorf("htmltext: %d bytes: more than %d; fetch a smaller page or save it to a file", len(htmlSrc), maxSize)
	}
	doc, err := html.Parse(bytes.NewReader(htmlSrc))
	if err != nil {
		return "", fmt.Errorf("htmltext: the parser stopped, at most %d levels may be nested: %w", maxDepth, err)
	}
	var r renderer
	r.walk(doc)
	return strings.ToValidUTF8(r.out.String(), "\ufffd"), nil
}

// A renderer walks a document without recursion.
type renderer struct {
	out   writer
	lists []list // the open ones
	links []int  // for each open link, how long the text was when it began
	cells int    // of the current table row so far
}

// A list numbers its items from next on, if it is ordered.
type list struct {
	ordered bool
	next    int
}

func (r *renderer) walk(root *html.Node) {
	n := root
	for {
		entered := r.enter(n)
		if entered && n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		if entered {
			r.leave(n)
		}
		for n != root && n.NextSibling == nil {
			n = n.Parent
			r.leave(n)
		}
		if n == root {
			return
		}
		n = n.NextSibling
	}
}

// enter writes what stands before the children of n, and reports whether they are to be read.
func (r *renderer) enter(n *html.Node) bool {
	switch n.Type {
	case html.TextNode:
		r.out.text(n.Data)
		return false
	case html.DocumentNode:
		return true
	case html.ElementNode:
		if dropped(n.DataAtom) || n.Namespace == "svg" || hidden(n) {
			return false
		}
	default: // comments and doctypes
		return false
	}
	if n.DataAtom == atom.Head {
		r.title(n)
		return false
	}
	r.out.lines(spacing(n.DataAtom))
	r.open(n)
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
func (r *renderer) open(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.out.mark(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
	case atom.Br:
		r.out.breakLine()
	case atom.Hr:
		r.out.mark("---")
	case atom.Pre, atom.Textarea, atom.Listing, atom.Xmp:
		r.out.pre++
	case atom.Blockquote:
		r.out.quote++
	case atom.Ul, atom.Ol:
		start, err := strconv.Atoi(attr(n, "start"))
		if err != nil {
			start = 1
		}
		r.lists = append(r.lists, list{n.DataAtom == atom.Ol, start})
	case atom.Li:
		r.item()
	case atom.Tr:
		r.cells = 0
	case atom.Td, atom.Th:
		if r.cells++; r.cells > 1 {
			r.out.mark(" | ")
		}
	case atom.Img:
		if alt := strings.Join(strings.Fields(attr(n, "alt")), " "); alt != "" {
			r.out.text("[image: " + alt + "]")
		}
	case atom.A:
		r.links = append(r.links, r.out.Len())
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
func (r *renderer) leave(n *html.Node) {
	switch n.DataAtom {
	case atom.Pre, atom.Textarea, atom.Listing, atom.Xmp:
		r.out.pre--
	case atom.Blockquote:
		r.out.lines(2)
		r.out.quote--
	case atom.Ul, atom.Ol:
		r.lists = r.lists[:len(r.lists)-1]
	case atom.A:
		r.link(n)
	}
	r.out.lines(spacing(n.DataAtom))
}

// link writes the address of a link that has any text.
func (r *renderer) link(n *html.Node) {
	began := r.links[len(r.links)-1]
	r.links = r.links[:len(r.links)-1]
	text := strings.TrimSpace(r.out.String()[began:])
	href := strings.Join(strings.Fields(attr(n, "href")), "")
	scheme, _, _ := strings.Cut(strings.ToLower(href), ":")
	switch {
	case text == "" || text == href || href == "" || href[0] == '#' || scheme == "javascript":
	case scheme == "data" || len(href) > maxHref:
		r.out.text(" (address of " + strconv.Itoa(len(href)) + " bytes)")
	default:
		r.out.text(" (" + href + ")")
	}
}

// title writes the first title in the head, which is all of it that a reader sees.
func (r *renderer) title(head *html.Node) {
	for c := head.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Title && c.FirstChild != nil {
			r.out.text(c.FirstChild.Data)
			r.out.lines(2)
			return
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}
