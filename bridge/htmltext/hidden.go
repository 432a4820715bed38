package htmltext

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// hidden reports an element that says of itself that nobody sees it.
func hidden(e element) bool {
	shut := e.atom == atom.Dialog // until it has the attribute open
	for _, a := range e.attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") {
				return true
			}
		case "open":
			shut = false
		case "style":
			if hides(a.Val) {
				return true
			}
		}
	}
	return shut
}

// style is a parsed style attribute, in lower case.
type style []property

type property struct{ name, value string }

// get is the last value of a property, which is the one that counts.
func (s style) get(name string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i].name == name {
			return s[i].value
		}
	}
	return ""
}

// hides reports a style that makes text invisible, too small, or puts it off the page.
func hides(text string) bool {
	s := parseStyle(text)
	switch {
	case s.get("display") == "none", s.get("visibility") == "hidden", s.get("visibility") == "collapse", s.get("content-visibility") == "hidden":
		return true
	case s.atMost("opacity", 0.05), s.atMost("font-size", 1), s.atMost("zoom", 0.05):
		return true
	case s.get("color") == "transparent", s.get("color") != "" && (s.get("color") == s.get("background") || s.get("color") == s.get("background-color")):
		return true
	case s.clipped(), s.tiny(), s.displaced():
		return true
	}
	return false
}

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssEscape  = regexp.MustCompile(`\\([0-9a-fA-F]{1,6})\s?`)
	cssNumber  = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?`)
)

func parseStyle(text string) style {
	if strings.Contains(text, "/*") {
		text = cssComment.ReplaceAllString(text, "")
	}
	if strings.Contains(text, `\`) {
		text = strings.ReplaceAll(cssEscape.ReplaceAllStringFunc(text, func(e string) string {
			r, _ := strconv.ParseUint(strings.TrimSpace(e[1:]), 16, 32) // six digits at most, by the pattern
			return string(rune(r))
		}), `\`, "")
	}
	var s style
	for part := range strings.SplitSeq(strings.ToLower(text), ";") {
		if name, value, ok := strings.Cut(part, ":"); ok {
			value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
			s = append(s, property{strings.TrimSpace(name), value})
		}
	}
	return s
}

// number reads a property in pixels; em, rem, vw and percent are taken at their usual size.
func (s style) number(name string) (float64, bool) {
	text := s.get(name)
	if text == "" {
		return 0, false
	}
	digits := cssNumber.FindString(text)
	v, err := strconv.ParseFloat(digits, 64)
	if digits == "" || err != nil {
		return 0, false
	}
	switch unit, _, _ := strings.Cut(text[len(digits):], " "); unit {
	case "em", "rem", "ch", "ex":
		v *= 16
	case "vw", "vh", "vmin", "vmax":
		v *= 10
	case "%":
		if name == "opacity" {
			return v / 100, true
		}
		v *= 4
	}
	return v, true
}

func (s style) atMost(name string, limit float64) bool {
	v, ok := s.number(name)
	return ok && v <= limit
}

// tiny reports a box of no size. One with overflow shows its text all the same, unless it says hidden.
func (s style) tiny() bool {
	cut := strings.Contains(s.get("overflow"), "hidden") || strings.Contains(s.get("overflow"), "clip") || s.get("overflow-x") == "hidden" || s.get("overflow-y") == "hidden"
	for _, side := range []string{"width", "height", "max-width", "max-height"} {
		if s.atMost(side, 0) || cut && s.atMost(side, 1) {
			return true
		}
	}
	return false
}

// clipped reports what is cut down to nothing.
func (s style) clipped() bool {
	path, flat := s.get("clip-path"), strings.ReplaceAll(s.get("transform"), " ", "")
	return strings.HasPrefix(s.get("clip"), "rect(0") || strings.HasPrefix(s.get("clip"), "rect(1px") ||
		strings.HasPrefix(path, "inset(50%") || strings.HasPrefix(path, "inset(100%") || strings.HasPrefix(path, "circle(0") || strings.HasPrefix(path, "polygon(0 0)") ||
		strings.Contains(flat, "scale(0)") || strings.Contains(flat, "scalex(0)") || strings.Contains(flat, "scaley(0)") || strings.Contains(flat, "scale(0,")
}

// offPage is a distance, in pixels, that no layout uses but one that means to hide.
const offPage = -500

// displaced reports what is moved off the page.
func (s style) displaced() bool {
	for _, side := range []string{"text-indent", "left", "right", "top", "bottom", "margin-left", "margin-top", "inset-inline-start"} {
		if s.atMost(side, offPage) {
			return true
		}
	}
	_, shift, ok := strings.Cut(s.get("transform"), "translate")
	if !ok {
		return false
	}
	_, shift, _ = strings.Cut(shift, "(")
	for part := range strings.SplitSeq(strings.TrimSuffix(shift, ")"), ",") {
		if (style{{"shift", strings.TrimSpace(part)}}).atMost("shift", offPage) {
			return true
		}
	}
	return false
}
