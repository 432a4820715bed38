package taskfile

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	durationForm = regexp.MustCompile(`^([0-9]+(ms|s|m|h|d))+$`)
	durationPart = regexp.MustCompile(`([0-9]+)(ms|s|m|h|d)`)
	amountForm   = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(k|m|KiB|MiB|GiB)?$`)
	rateForm     = regexp.MustCompile(`^([0-9]+)/(s|m|h|d)$`)
)

var timeUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// amountUnits: k and m count by thousands, as tokens are counted; the binary
// units are for bytes.
var amountUnits = map[string]int64{"": 1, "k": 1000, "m": 1_000_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// ParseDuration reads "1h30m", with the units ms, s, m, h and d.
func ParseDuration(s string) (time.Duration, error) {
	if !durationForm.MatchString(s) {
		return 0, fmt.Errorf("%q: want a duration as 90s, 1h30m or 30d", s)
	}
	var sum time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(s, -1) {
		unit := timeUnits[part[2]]
		n, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || n > int64(math.MaxInt64-sum)/int64(unit) {
			return 0, fmt.Errorf("%q: too long: want less than 292 years", s)
		}
		sum += time.Duration(n) * unit
	}
	if sum == 0 {
		return 0, fmt.Errorf("%q: want more than nothing; leave it out for the default", s)
	}
	return sum, nil
}

// ParseAmount reads "500k", "1.5m" or "256KiB". A fraction of one is dropped.
func ParseAmount(s string) (int64, error) {
	const longest = 40 // characters: more digits are no amount, and cost time
	m := amountForm.FindStringSubmatch(s)
	if m == nil || len(s) > longest {
		return 0, fmt.Errorf("%q: want an amount as 400, 500k, 2m, 256KiB, 1MiB or 1GiB", s)
	}
	// Exact arithmetic: in floats 1.001k is 1000.
	r, _ := new(big.Rat).SetString(m[1]) // the form has only digits
	r.Mul(r, new(big.Rat).SetInt64(amountUnits[m[2]]))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%q: too large: want at most %d", s, int64(math.MaxInt64))
	}
	if n.Sign() == 0 {
		return 0, fmt.Errorf("%q: want at least 1", s)
	}
	return n.Int64(), nil
}

// UnmarshalText reads "10/m".
func (r *Rate) UnmarshalText(text []byte) error {
	m := rateForm.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("%q: want a rate as 10/m", text)
	}
	n, err := strconv.ParseInt(strings.TrimLeft(m[1], "0"), 10, 32)
	if err != nil {
		return fmt.Errorf("%q: want between 1 and %d calls", text, math.MaxInt32)
	}
	*r = Rate{Calls: int(n), Per: timeUnits[m[2]]}
	return nil
}
