package models

import (
	"errors"
	"math"
)

// Prices are in USD per million tokens. There is no built-in table: a price list goes
// stale in silence, and a wrong cost is worse than one that says it is unknown.
type Prices struct {
	Input       float64
	CachedInput float64 // 0 means the price of Input
	Output      float64
}

func (p *Prices) check() error {
	if p == nil {
		return nil
	}
	for _, v := range []float64{p.Input, p.CachedInput, p.Output} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return errors.New("prices must be zero or more, in USD per million tokens")
		}
	}
	return nil
}

// price makes u plausible and adds its cost. The counts come from the server: a negative
// one, or more cached tokens than tokens, must not become a credit.
func (p *Prices) price(u Usage) Usage {
	if !u.Known || u.Input < 0 || u.Output < 0 || u.CachedInput < 0 || u.CachedInput > u.Input {
		return Usage{}
	}
	if p == nil {
		return u
	}
	cached := p.CachedInput
	if cached == 0 {
		cached = p.Input
	}
	const million = 1e6
	u.CostUSD = (float64(u.Input-u.CachedInput)*p.Input + float64(u.CachedInput)*cached + float64(u.Output)*p.Output) / million
	u.CostKnown = true
	return u
}
