package policy

const (
	interlockReason = "this conversation holds both private data and third-party content, so nothing may be sent out of it; " +
		"summarise for the user instead, or start a fresh run that touches only one of the two"
	privateReason = "private data is in this conversation, and this task refuses sends after private data; " +
		"do what must be sent before you read private data, or report to the user instead"
)

// Interlock applies the lethal-trifecta rule: no send once both private data and
// third-party content are held, whatever a person would say. It is total and
// looks at nothing but taint, capabilities and the task's settings.
//
// The floor is judged: what every tool returned, and what the calls of the same
// batch will arm. With Security.Precise it judges the labels that the flow
// analysis proved, and the floor where nothing is proven.
func Interlock(r Request) Decision {
	if !r.Tool.Caps.Has(ExternalSend) {
		return Allowed("interlock")
	}
	t := r.judgedTaint()
	d := Allowed("interlock")
	if !r.Security.SendsAfterPrivate && t.Private() {
		d = Decision{Verdict: Deny, Gate: "interlock", Rule: "block-sends-after-private", Reason: privateReason, Values: taintValues(t)}
	}
	if t.Lethal() {
		v := r.Security.Trifecta
		if v == Ask && !r.Security.Attended {
			v = Deny
		}
		if v != Allow {
			d = Decision{Verdict: v, Gate: "interlock", Rule: "trifecta", Reason: interlockReason, Values: taintValues(t)}.Narrow(d)
		}
	}
	return d
}

// judgedTaint is the taint that the interlock judges.
func (r Request) judgedTaint() Taint {
	floor := r.Held.Join(r.Turn)
	if !r.Security.Precise {
		return floor
	}
	t := r.Control.Join(r.Turn)
	for name := range r.Args {
		a, proven := r.ArgTaint[name]
		if !proven {
			return floor
		}
		t = t.Join(a.Taint)
	}
	return t
}

func taintValues(t Taint) []Value {
	var vs []Value
	for l := range labels {
		for _, id := range t.from[l] {
			vs = append(vs, Value{Name: "taint." + l.String(), Value: id})
		}
	}
	return vs
}
