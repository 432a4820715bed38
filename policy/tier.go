package policy

import "fmt"

// A Tier says how often a person must agree to a tool.
//
// The constants run from strict to free, while the seed's numbers run the other
// way (0 is auto-approve). So a Tier is never encoded as an integer: it is
// written by its name, and [Tier.UnmarshalText] also reads the seed's number.
type Tier uint8

// The tiers, strictest first.
const (
	AlwaysAsk Tier = iota // every call asks; the zero value, the seed's tier 2
	AskOnce               // one yes becomes a lease; the seed's tier 1
	Free                  // never asks; the seed's tier 0
)

var tierNames = [...]string{"always_ask", "ask_once", "free"}

// TierOf returns the tier with the seed's number: 0 is Free, 1 AskOnce,
// 2 AlwaysAsk. Any other number is AlwaysAsk and an error.
func TierOf(n int) (Tier, error) {
	if n < 0 || n > 2 {
		return AlwaysAsk, fmt.Errorf("policy: tier %d: want 0 (auto-approve), 1 (approve once) or 2 (always approve)", n)
	}
	return Tier(2 - n), nil
}

// Number returns the seed's number of t: 0, 1 or 2.
func (t Tier) Number() int { return 2 - int(min(t, Free)) }

// Stricter returns the tier that asks more often.
func (t Tier) Stricter(u Tier) Tier { return min(t, u) }

func (t Tier) String() string { return tierNames[min(t, Free)] }

// MarshalText writes the name of t.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name, or the seed's number as "0", "1" or "2".
func (t *Tier) UnmarshalText(b []byte) error {
	for i, n := range tierNames {
		if string(b) == n || string(b) == fmt.Sprint(Tier(i).Number()) {
			*t = Tier(i)
			return nil
		}
	}
	*t = AlwaysAsk
	return fmt.Errorf("policy: tier %q: want free, ask_once or always_ask, or the number 0, 1 or 2", b)
}
