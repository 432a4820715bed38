package match

import (
	"regexp"
	"strconv"
	"strings"
)

// A date is a day as a text writes it. Year is 0 where the text leaves it out.
type date struct{ year, month, day int }

const (
	monthWords = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	yearPart   = `(?:,? (\d{4}))?`
	weekday    = `(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?`
)

// The writings of a date, on folded text. One month's name needs the space.
var writings = []struct {
	shape            *regexp.Regexp
	year, month, day int // groups; 0 where the writing has none
}{
	{regexp.MustCompile(`(\d{4})-(\d{2})-(\d{2})`), 1, 2, 3},
	{regexp.MustCompile(monthWords + ` (\d{1,2})(?:st|nd|rd|th)?` + yearPart), 3, 1, 2},
	{regexp.MustCompile(`(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?` + monthWords + yearPart), 3, 2, 1},
	{regexp.MustCompile(`(\d{1,2})\.(\d{1,2})\.(\d{4})?`), 3, 2, 1},
	{regexp.MustCompile(`(\d{1,2})/(\d{1,2})(?:/(\d{4}))?`), 3, 1, 2}, // and the other way round
}

var (
	timeShape    = regexp.MustCompile(`(\d{1,2}):(\d{2})(?::(\d{2})(?:\.0+)?)?z?`)
	weekdayShape = regexp.MustCompile(`^` + weekday + `,? `)
)

// A dating is one date in a text: where it stands, and every way to read it.
type dating struct {
	start, end int
	readings   []date
}

// datesIn returns the dates in a folded text.
func datesIn(s string) []dating {
	var out []dating
	for n, w := range writings {
		for _, m := range w.shape.FindAllStringSubmatchIndex(s, -1) {
			d := dating{start: m[0], end: m[1]}
			if !dateBorder(s, d.start, d.end) {
				continue
			}
			a, b, year := monthOrNumber(group(s, m, w.month)), monthOrNumber(group(s, m, w.day)), monthOrNumber(group(s, m, w.year))
			d.add(year, a, b)
			if n == len(writings)-1 && a != b {
				d.add(year, b, a)
			}
			if d.readings != nil {
				out = append(out, d)
			}
		}
	}
	return out
}

func (d *dating) add(year, month, day int) {
	if month >= 1 && month <= 12 && day >= 1 && day <= 31 {
		d.readings = append(d.readings, date{year, month, day})
	}
}

// dateBorder is the border of a token, except that the time of an ISO date may
// follow at once.
func dateBorder(s string, start, end int) bool {
	if end < len(s) && s[end] == 't' && timeShape.MatchString(s[end+1:]) {
		end++
		return leftBorder(s, start) && timeShape.FindStringIndex(s[end:])[0] == 0
	}
	return leftBorder(s, start) && rightBorder(s, end)
}

func group(s string, m []int, n int) string {
	if m[2*n] < 0 {
		return ""
	}
	return s[m[2*n]:m[2*n+1]]
}

const monthStarts = "janfebmaraprmayjunjulaugsepoctnovdec"

// monthOrNumber reads a number or the name of a month; "" is 0.
func monthOrNumber(s string) int {
	if n, err := strconv.Atoi(s); err == nil || len(s) < 3 {
		return n
	}
	return strings.Index(monthStarts, s[:3])/3 + 1
}

// timesIn returns the times of day in a folded text as h:mm, without a leading
// zero and without zero seconds.
func timesIn(s string) []string {
	var out []string
	for _, m := range timeShape.FindAllStringSubmatchIndex(s, -1) {
		iso := m[0] > 10 && s[m[0]-1] == 't' && datePrefix(s[:m[0]-1])
		if (iso || leftBorder(s, m[0])) && rightBorder(s, m[1]) {
			out = append(out, clock(s, m))
		}
	}
	return out
}

func datePrefix(s string) bool {
	w := writings[0].shape.FindAllStringIndex(s, -1)
	return w != nil && w[len(w)-1][1] == len(s)
}

func clock(s string, m []int) string {
	hour := strings.TrimPrefix(group(s, m, 1), "0")
	if hour == "" {
		hour = "0"
	}
	t := hour + ":" + group(s, m, 2)
	if sec := group(s, m, 3); sec != "" && sec != "00" {
		t += ":" + sec
	}
	return t
}

// isMoment reports whether the whole of a folded text is a date, a time, or a
// date with a time.
func isMoment(s string) bool {
	s = weekdayShape.ReplaceAllString(s, "")
	ds := datesIn(s)
	rest := s
	if len(ds) > 0 {
		if ds[0].start != 0 {
			return false
		}
		rest = strings.TrimPrefix(strings.TrimLeft(s[ds[0].end:], " ,"), "t")
		rest = strings.TrimPrefix(rest, "at ")
	}
	return rest == "" || timeShape.FindString(rest) == rest
}

// A calendar is the dates and times that a text names.
type calendar struct {
	dates map[date]bool
	times map[string]bool
}

// anyYear stands for the year of a date that a text writes without one: it names
// that day of every year.
const anyYear = -1

// add takes the dates and times of a folded text. A date that can be read in two
// ways names neither.
func (c *calendar) add(s string, ds []dating) {
	for _, d := range ds {
		if len(d.readings) != 1 {
			continue
		}
		r := d.readings[0]
		c.dates[date{0, r.month, r.day}] = true // what a value without a year asks for
		if r.year == 0 {
			r.year = anyYear
		}
		c.dates[r] = true
	}
	for _, t := range timesIn(s) {
		c.times[t] = true
	}
}

// names reports whether every reading of every date, and every time, in a folded
// value is named.
func (c *calendar) names(v string) bool {
	for _, d := range datesIn(v) {
		for _, r := range d.readings {
			if !c.dates[r] && !c.dates[date{anyYear, r.month, r.day}] {
				return false
			}
		}
	}
	for _, t := range timesIn(v) {
		if !c.times[t] {
			return false
		}
	}
	return true
}
