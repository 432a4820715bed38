package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/codeact-dev/codeact/bridge/htmltext"
	"github.com/codeact-dev/codeact/bridge/plain"
	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/policy"
)

// maxError bounds a tool's error text, in bytes: as much as interp lets a script
// see of one.
const maxError = 4 << 10

// hidden is why a result is not shown at all.
func (p *passage) hide(why string) {
	p.outcome.Value, p.outcome.Failed, p.outcome.Hidden = nil, "", why
}

// bound refuses a result that no scanner should have to read. Text is cut.
func (p *passage) bound(context.Context) error {
	o := &p.outcome
	o.Failed, _ = scan.HeadTail(o.Failed, maxRaw)
	if !p.b.cfg.KeepSecrets {
		o.Failed, o.Findings = p.b.cfg.Redactor.String(o.Failed) // a secret that is cut in two is not found any more
	}
	o.Failed, _ = scan.HeadTail(o.Failed, maxError)
	switch v := o.Value.(type) {
	case string:
		o.Value, _ = scan.HeadTail(v, maxRaw)
	default:
		text, err := plain.Append(nil, v)
		switch {
		case err != nil:
			o.Value, o.Failed = nil, fmt.Sprintf("the tool returned what is not plain data: %v", err)
		case len(text) > maxRaw:
			o.Value, o.Failed = nil, fmt.Sprintf("the result has %d bytes, over the %d that are read at all; ask for less", len(text), maxRaw)
		}
	}
	return nil
}

// stripHTML turns HTML into the text that a reader would see, by the media type,
// or by what it looks like where the type is missing.
func (p *passage) stripHTML(context.Context) error {
	media := p.out.MediaType
	if media != "" && !htmltext.IsHTML(media, nil) {
		return nil
	}
	p.outcome.Value = mapText(p.outcome.Value, func(s string) string {
		if !strings.Contains(s, "<") || !htmltext.IsHTML(media, []byte(s)) {
			return s
		}
		page, err := htmltext.Read([]byte(s))
		if err != nil {
			return fmt.Sprintf("[HTML of %d bytes that could not be read: %v]", len(s), err)
		}
		p.concealed += page.Hidden
		return page.Text
	})
	return nil
}

// redact takes secrets out of value and error: those that the run knows, and the
// known shapes.
func (p *passage) redact(context.Context) error {
	if p.b.cfg.KeepSecrets {
		return nil
	}
	o := &p.outcome
	value, found := p.b.cfg.Redactor.Value(o.Value)
	failed, also := p.b.cfg.Redactor.String(o.Failed)
	o.Value, o.Failed = value, failed
	o.Findings = append(append(o.Findings, found...), also...)
	if p.b.cfg.BlockSecrets && len(o.Findings) > 0 {
		p.hide("it holds a secret (" + o.Findings[0].Rule + ")")
	}
	return nil
}

// maxSuspected bounds what of one result the injection scan reads, in bytes: some
// 0.3 s of the slowest text. It is a warning, and nobody hides orders to a model
// in the middle of more than that without hiding them from the model too.
const maxSuspected = 256 << 10

// ends is the beginning and the end of s, most bytes together.
func ends(s string, most int) string {
	if len(s) <= most {
		return s
	}
	tail := most / 4
	return s[:most-tail] + "\n" + s[len(s)-tail:]
}

// suspect looks for orders to the model in what came from outside. It warns; it
// is not what keeps an injection from acting.
func (p *passage) suspect(context.Context) error {
	if p.b.cfg.Injection == InjectionOff {
		return nil
	}
	var s Suspicion
	left := maxSuspected
	look := func(text string) {
		r := scan.Injection(ends(text, left))
		left = max(0, left-len(text))
		s.Score = max(s.Score, r.Score)
		for _, h := range r.Hits {
			if !slices.Contains(s.Rules, h.Rule) {
				s.Rules = append(s.Rules, h.Rule)
			}
		}
	}
	eachText(p.outcome.Value, look)
	look(p.outcome.Failed)
	look(p.concealed) // nobody sees it, and it tells who wrote the page
	if s.Score < scan.Suspicious {
		return nil
	}
	p.outcome.Injection = &s
	if p.b.cfg.Injection == InjectionBlock {
		p.hide("it reads like orders to you (" + s.Rules[0] + ")")
	}
	return nil
}

// reveal makes what a person would not see visible.
func (p *passage) reveal(context.Context) error {
	p.outcome.Value = scan.VisibleValue(p.outcome.Value)
	p.outcome.Failed = scan.Visible(p.outcome.Failed)
	return nil
}

// after lets hooks see the result. They may hide it, show something else instead,
// or end the run; nothing that they do touches its labels.
func (p *passage) after(ctx context.Context) error {
	o := &p.outcome
	for _, h := range p.b.cfg.Hooks {
		r := h.After(ctx, p.hookCall(), HookOutput{Value: o.Value, Failed: o.Failed, External: o.External, Took: time.Duration(o.Millis) * time.Millisecond})
		for _, n := range r.Notes {
			o.Notes = append(o.Notes, p.quote(n))
		}
		switch why := p.quote(r.Decision.Reason); {
		case r.Stop:
			o.Stop = cmp.Or(why, "no reason was given")
			p.hide(o.Stop)
		case r.Decision.Verdict != policy.Allow: // nobody can be asked about a result
			p.hide(cmp.Or(why, "no reason was given"))
		case r.Replace && o.Hidden == "":
			p.replace(r.Value)
		}
	}
	return nil
}

// replace shows a hook's value instead. It is cleaned as the result was.
func (p *passage) replace(v any) {
	if _, err := plain.Append(nil, v); err != nil {
		p.hide(fmt.Sprintf("a hook put in its place what is not plain data: %v", err))
		return
	}
	v, _ = p.b.cfg.Redactor.Value(v)
	v = scan.VisibleValue(v)
	if p.outcome.Failed == "" {
		p.outcome.Value = v
		return
	}
	text, isText := v.(string)
	if !isText {
		text, _ = plain.JSON(v)
	}
	p.outcome.Failed, _ = scan.HeadTail(text, maxError)
}

// spill bounds what the script gets. Long text is cut and stands whole in a file
// that the run can read back; what is not text cannot be cut and still be what
// the script expects, so it becomes an error that names the file.
func (p *passage) spill(context.Context) error {
	o := &p.outcome
	text, _ := plain.Append(nil, o.Value) // bound and replace let nothing else through
	o.Bytes = len(text)
	if len(text) <= p.b.cfg.MaxOutput {
		return nil
	}
	whole, isText := o.Value.(string)
	if !isText {
		whole = string(text)
	}
	if err := p.keep(whole); err != nil {
		o.Value, o.Failed = nil, fmt.Sprintf("the result has %d bytes, over the limit of %d, and could not be kept: %v", len(whole), p.b.cfg.MaxOutput, err)
		return nil
	}
	note := fmt.Sprintf("the result has %d bytes, over the limit of %d; the whole of it is in %s: read parts of it with fs_read(path, start=, lines=)", len(whole), p.b.cfg.MaxOutput, o.Spill)
	if !isText {
		o.Value, o.Failed = nil, note
		return nil
	}
	cut, _ := scan.HeadTail(whole, p.b.cfg.MaxOutput)
	o.Value = cut + "\n[" + note + "]"
	return nil
}

func (p *passage) keep(text string) error {
	if p.d.run.Space == nil {
		return errors.New("this run has no files")
	}
	name := strings.ReplaceAll(p.id, "/", "-")
	if n := p.record.Attempts; n > 0 {
		name += fmt.Sprintf("-again-%d", n) // an earlier attempt may have left another text
	}
	path, err := p.d.run.Space.Spill(name+".txt", []byte(text))
	p.outcome.Spill = path
	return err
}

// mapText applies f to every text in plain data, but for the keys of maps. It
// copies only what changes.
func mapText(v any, f func(string) string) any {
	out, _ := mapped(v, f)
	return out
}

func mapped(v any, f func(string) string) (_ any, changed bool) {
	switch v := v.(type) {
	case string:
		out := f(v)
		return out, out != v
	case []byte:
		if out := f(string(v)); out != string(v) {
			return []byte(out), true
		}
	case []any:
		out := v
		for i, e := range v {
			if to, c := mapped(e, f); c {
				if !changed {
					out, changed = slices.Clone(v), true
				}
				out[i] = to
			}
		}
		return out, changed
	case map[string]any:
		out := v
		for k, e := range v {
			if to, c := mapped(e, f); c {
				if !changed {
					out, changed = maps.Clone(v), true
				}
				out[k] = to
			}
		}
		return out, changed
	}
	return v, false
}

// eachText calls f for every text in plain data, keys of maps too.
func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []byte:
		f(string(v))
	case []any:
		for _, e := range v {
			eachText(e, f)
		}
	case map[string]any:
		for k, e := range v {
			f(k)
			eachText(e, f)
		}
	}
}
