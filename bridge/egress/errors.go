package egress

import (
	"errors"
	"time"
)

// ErrRefused is what every *Refused is: the request was stopped here, and nothing that a third party wrote is in the error.
// Any other error of Do may hold text from the network.
var ErrRefused = errors.New("refused")

// Refused says that our own guard stopped a request. Nothing was sent.
type Refused struct {
	Host   string // "" when the URL has none that can be shown
	Reason string // for the model: what is wrong, and what to do instead

	RetryAfter time.Duration // when the same request may pass; 0: not as it is
}

func (r *Refused) Error() string {
	if r.Host == "" {
		return "egress: refused: " + r.Reason
	}
	return "egress: " + r.Host + ": refused: " + r.Reason
}

// Is makes errors.Is(err, ErrRefused) true.
func (r *Refused) Is(target error) bool { return target == ErrRefused }

func refuse(host, reason string) error { return &Refused{Host: host, Reason: reason} }
