package htmltext

import (
	"slices"

	"golang.org/x/net/html/atom"
)

// A kind says how a parser treats an element. Those that have rules of their own, and no kind, are not plain.
type kind uint16

const (
	isFormat   kind = 1 << iota // opened again by a parser where it was not closed properly
	isInline                    // without rules of its own, as are all unknown ones
	isBlock                     // closes an open paragraph; its end tag closes what needs none
	isHeading                   // closes a heading
	isItem                      // closes an item of the same list
	isVoid                      // holds nothing
	isRaw                       // holds text that is not shown
	isTable                     // part of a table
	isFrame                     // part of a table that holds only parts
	isImplied                   // needs no end tag
	isPassable                  // an item of a list closes the one before it through this
)

// kinds are those of the elements that may stand in a plain page.
var kinds = func() map[atom.Atom]kind {
	m := map[atom.Atom]kind{0: isInline | isPassable}
	for k, list := range map[kind][]atom.Atom{
		isFormat | isPassable: {atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U},
		isInline | isPassable: {atom.Abbr, atom.Acronym, atom.Bdi, atom.Bdo, atom.Cite, atom.Data, atom.Datalist, atom.Del, atom.Dfn, atom.Ins, atom.Kbd,
			atom.Label, atom.Legend, atom.Mark, atom.Meter, atom.Output, atom.Picture, atom.Progress, atom.Q, atom.Samp, atom.Slot, atom.Span, atom.Sub,
			atom.Sup, atom.Time, atom.Var, atom.Video, atom.Audio, atom.Canvas, atom.Map},
		isBlock: {atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Details, atom.Dir, atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure,
			atom.Footer, atom.Header, atom.Hgroup, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Section, atom.Summary, atom.Ul, atom.Pre},
		isBlock | isPassable:   {atom.Address, atom.Div, atom.Dialog, atom.Search},
		isHeading:              {atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6},
		isItem | isImplied:     {atom.Li, atom.Dd, atom.Dt},
		isImplied | isPassable: {atom.P, atom.Option, atom.Optgroup},
		isVoid:                 {atom.Area, atom.Br, atom.Embed, atom.Img, atom.Wbr, atom.Input, atom.Source, atom.Track, atom.Base, atom.Link, atom.Meta, atom.Hr},
		isRaw:                  {atom.Script, atom.Style, atom.Noscript, atom.Noframes, atom.Iframe, atom.Noembed},
		isTable | isFrame:      {atom.Table, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Colgroup},
		isTable:                {atom.Td, atom.Th, atom.Caption, atom.Col},
	} {
		for _, a := range list {
			m[a] = k
		}
	}
	return m
}()

// once are the elements that a parser treats in another way inside one another.
func once(a atom.Atom) uint8 {
	switch a {
	case atom.A:
		return 1
	case atom.Button:
		return 2
	case atom.Select:
		return 4
	case atom.Table:
		return 8
	}
	return 0
}

var svgNames = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{
		"svg", "g", "path", "circle", "ellipse", "rect", "line", "polyline", "polygon", "use", "defs", "symbol", "lineargradient", "radialgradient",
		"stop", "clippath", "mask", "pattern", "text", "tspan", "title", "filter", "animate", "animatetransform", "marker",
	} {
		m[name] = true
	}
	return m
}()

// start reads a start tag.
func (s *streamer) start(a atom.Atom, name string, selfClosing bool) bool {
	if s.state < inBody {
		if done, plain := s.startHead(a); done || !plain {
			return plain
		}
	}
	k, frame := kinds[a], s.top().kind&isFrame != 0
	switch {
	case s.state != inBody || len(s.stack) > maxStream:
		return false
	case k&isTable != 0:
		return s.startTable(a)
	case k&isRaw != 0:
		return (a == atom.Script || a == atom.Style || !frame) && s.raw(a)
	case frame:
		return false
	case a == atom.Svg:
		s.top().fresh = false
		return selfClosing || s.svg()
	case k&isVoid != 0:
		if (a == atom.Input || a == atom.Hr) && s.top().flow&once(atom.Select) != 0 {
			return false
		}
		return (a != atom.Hr || s.closeP()) && s.void(a)
	case a == atom.Textarea:
		return s.textarea()
	}
	if !s.startBody(a) {
		return false
	}
	s.push(a, name)
	return true
}

// startBody closes what a start tag in the body closes, and reports that the element may be opened.
func (s *streamer) startBody(a atom.Atom) bool {
	k, flow := kinds[a], s.top().flow&once(a)
	switch {
	case k&isInline != 0:
		return true
	case k&isFormat != 0, a == atom.Button:
		return flow == 0
	case a == atom.P || k&isBlock != 0:
		return s.closeP()
	case k&isHeading != 0:
		if !s.closeP() {
			return false
		}
		if s.top().kind&isHeading != 0 {
			s.pop()
		}
		return true
	case a == atom.Form:
		if s.form {
			return false
		}
		s.form = true
		return s.closeP()
	case k&isItem != 0:
		return s.closeItem(a)
	case a == atom.Select:
		return flow == 0
	case a == atom.Option:
		if s.is(atom.Option) {
			s.pop()
		}
		return s.is(atom.Select, atom.Optgroup)
	case a == atom.Optgroup:
		if s.is(atom.Option) {
			s.pop()
		}
		if s.is(atom.Optgroup) {
			s.pop()
		}
		return s.is(atom.Select)
	}
	return false
}

// closeItem closes an item of the same list before the next one.
func (s *streamer) closeItem(a atom.Atom) bool {
	item := func(n atom.Atom) bool { return n == a || a != atom.Li && (n == atom.Dd || n == atom.Dt) }
	for i := len(s.stack) - 1; i >= 0; i-- {
		n := s.stack[i].atom
		if item(n) {
			if top := len(s.stack) - 1; i < top-1 || i == top-1 && !s.is(atom.P) {
				return false
			}
			for len(s.stack) > i {
				s.pop()
			}
			break
		}
		if s.stack[i].kind&isPassable == 0 {
			break
		}
	}
	return s.closeP()
}

func (s *streamer) textarea() bool {
	s.push(atom.Textarea, "")
	text, ok := s.rawText(atom.Textarea)
	if !ok {
		return false
	}
	s.text([]byte(text))
	s.pop()
	return true
}

// startHead reads a start tag before the body. It reports done if the tag was read.
func (s *streamer) startHead(a atom.Atom) (done, plain bool) {
	switch {
	case a == atom.Html:
		if s.html || s.state > beforeHead {
			return false, false
		}
		s.html, s.mute = true, hidden(element{a, s.attr})
		return true, true
	case a == atom.Head:
		if s.state > beforeHead {
			return false, false
		}
		s.state = inHead
		s.blind = hidden(element{a, s.attr})
		return true, true
	}
	if s.state == beforeHead {
		s.state = inHead
	}
	switch {
	case a == atom.Meta, a == atom.Link, a == atom.Base:
		return true, true
	case a == atom.Script, a == atom.Style, a == atom.Noframes, a == atom.Noscript && s.state == inHead:
		return true, s.raw(a)
	case a == atom.Title:
		return true, s.state == inHead && s.readTitle()
	case a == atom.Template, a == atom.Frameset, a == atom.Basefont, a == atom.Bgsound:
		return false, false
	case a == atom.Body:
		s.state = inBody
		s.push(a, "")
		return true, true
	}
	s.bodyWith()
	return false, true
}

// bodyWith opens the body that the page did not, and keeps the attributes of the tag that did it.
func (s *streamer) bodyWith() {
	kept := s.attr
	s.attr = nil
	s.body()
	s.attr = kept
}

// title writes the first title that is not empty.
func (s *streamer) readTitle() bool {
	text, ok := s.rawText(atom.Title)
	if ok && text != "" && !s.title {
		s.title = true
		if !s.mute && !s.blind {
			s.r.title(text)
		}
	}
	return ok
}

// end reads an end tag.
func (s *streamer) end(a atom.Atom, name []byte) bool {
	k := kinds[a]
	switch {
	case a == atom.Head && s.state == inHead:
		s.state = afterHead
		return true
	case a == atom.Html && s.state == afterBody:
		return true
	case s.state != inBody:
		return false
	case a == atom.Body || a == atom.Html:
		s.state = afterBody
		return s.top().flow&once(atom.Table) == 0 && s.r.out.pre == 0
	case k&isTable != 0:
		return s.endTable(a)
	case k&isBlock != 0, a == atom.Select, a == atom.Form, a == atom.Button:
		s.closeImplied()
		if a == atom.Form {
			if !s.form {
				return false
			}
			s.form = false
		}
	case k&isItem != 0:
		if s.is(atom.P) {
			s.pop()
		}
	}
	if !s.top().sameName(a, name) {
		return false
	}
	s.pop()
	return true
}

// startTable reads a start tag that belongs to a table.
func (s *streamer) startTable(a atom.Atom) bool {
	switch a {
	case atom.Table:
		if s.top().inP || s.top().kind&isFrame != 0 {
			return false
		}
		s.push(a, "")
		return true
	case atom.Caption, atom.Colgroup, atom.Col:
		if a == atom.Col && s.is(atom.Colgroup) {
			return true
		}
		if !s.is(atom.Table) || a == atom.Col {
			return false
		}
		s.push(a, "")
		return true
	case atom.Tbody, atom.Thead, atom.Tfoot:
		if !s.closeTo(atom.Table) {
			return false
		}
		s.push(a, "")
		return true
	}
	kept := s.attr
	s.attr = nil
	plain := s.openRow(a == atom.Tr)
	s.attr = kept
	if plain {
		s.push(a, "")
	}
	return plain
}

// openRow makes room for a row, or for a cell in one.
func (s *streamer) openRow(row bool) bool {
	switch {
	case !row && s.closeTo(atom.Tr):
		return true
	case !s.closeTo(atom.Tbody, atom.Thead, atom.Tfoot, atom.Table):
		return false
	}
	if s.is(atom.Table) {
		s.push(atom.Tbody, "")
	}
	if !row {
		s.push(atom.Tr, "")
	}
	return true
}

// closeTo closes cells, rows and sections up to one of these, if nothing else is open in between.
func (s *streamer) closeTo(atoms ...atom.Atom) bool {
	depth := len(s.stack) - 1
	for s.stack[depth].atom == atom.P {
		depth--
	}
	if cell := s.stack[depth].atom; depth < len(s.stack)-1 && cell != atom.Td && cell != atom.Th {
		return false
	}
	for ; ; depth-- {
		a := s.stack[depth].atom
		if slices.Contains(atoms, a) {
			break
		}
		if a != atom.Td && a != atom.Th && (s.stack[depth].kind&isFrame == 0 || a == atom.Table) {
			return false
		}
	}
	for len(s.stack)-1 > depth {
		s.pop()
	}
	return true
}

// endTable reads an end tag that belongs to a table.
func (s *streamer) endTable(a atom.Atom) bool {
	switch a {
	case atom.Col:
		return false
	case atom.Caption:
		s.closeImplied()
		if !s.is(a) {
			return false
		}
	default:
		if !s.closeTo(a) {
			return false
		}
	}
	s.pop()
	return true
}
