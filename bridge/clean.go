package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		text, err := htmltext.Text([]byte(s))
		if err != nil {
			return fmt.Sprintf("[HTML of %d bytes that could not be read: %v]", len(s), err)
		}
		return text
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
	o.Findings = append(found, also...)
	if p.b.cfg.BlockSecrets && len(o.Findings) > 0 {
		p.hide("it holds a secret (" + o.Findings[0].Rule + ")")
	}
	return nil
}

// suspect looks for orders to the model in what came from outside. It warns; it
// is not what keeps an injection from acting.
func (p *passage) suspect(context.Context) error {
	if p.b.cfg.Injection == InjectionOff {
		return nil
	}
	var s Suspicion
	look := func(text string) string {
		r := scan.Injection(text)
		s.Score = max(s.Score, r.Score)
		for _, h := range r.Hits {
			s.Rules = append(s.Rules, h.Rule)
		}
		return text
	}
	mapText(p.outcome.Value, look)
	look(p.outcome.Failed)
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

// after lets hooks see the result. They may hide or shorten it; nothing that they
// do touches its labels.
func (p *passage) after(ctx context.Context) error {
	if len(p.b.cfg.Hooks) == 0 {
		return nil
	}
	o := &p.outcome
	for _, h := range p.b.cfg.Hooks {
		r := h.After(ctx, p.hookCall(), HookOutput{Value: o.Value, Failed: o.Failed, External: o.External})
		switch {
		case r.Stop:
			p.hide(r.Decision.Reason)
			p.stop = fmt.Errorf("%w: %s", ErrStopped, r.Decision.Reason)
		case r.Decision.Verdict == policy.Deny:
			p.hide(r.Decision.Reason)
		case r.Replace:
			o.Value, _ = p.b.cfg.Redactor.Value(scan.VisibleValue(r.Value))
		}
	}
	return nil
}

// spill bounds what the script gets. Long text is cut and stands whole in a file
// that the run can read back; what is not text cannot be cut and still be what
// the script expects, so it becomes an error that names the file.
func (p *passage) spill(context.Context) error {
	o := &p.outcome
	text, err := plain.Append(nil, o.Value)
	if err != nil {
		return fmt.Errorf("bridge: %s: %w", p.tool.Name, err)
	}
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
	path, err := p.d.run.Space.Spill(strings.ReplaceAll(p.id, "/", "-")+".txt", []byte(text))
	p.outcome.Spill = path
	return err
}

// mapText applies f to every text in plain data. It copies only what changes.
func mapText(v any, f func(string) string) any {
	switch v := v.(type) {
	case string:
		return f(v)
	case []any:
		return mapList(v, f)
	case map[string]any:
		return mapDict(v, f)
	}
	return v
}

func mapList(l []any, f func(string) string) any {
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = mapText(e, f)
	}
	return out
}

func mapDict(m map[string]any, f func(string) string) any {
	out := make(map[string]any, len(m))
	for k, e := range m {
		out[k] = mapText(e, f)
	}
	return out
}
