package assembly

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeact-dev/codeact/bridge/scan"
	"github.com/codeact-dev/codeact/engine"
	"github.com/codeact-dev/codeact/engine/taskfile/strictyaml"
)

// An entry is one text of a task that the model or the trace will hold.
type entry struct {
	path   string // of the setting
	name   string // as a person knows it
	text   string
	orders bool // the model reads it as what it is to do
}

func (r *Run) entries() []entry {
	f := r.File
	goal := entry{"$.goal", "goal", f.Goal, true}
	if f.GoalFile != "" {
		goal.path = "$.goalFile"
	}
	list := []entry{goal}
	for _, name := range slices.Sorted(maps.Keys(f.Params)) {
		if _, sensitive := f.SensitiveParams[name]; !sensitive {
			list = append(list, entry{"$.parameters." + name, "parameter " + name, fmt.Sprint(f.Params[name]), true})
		}
	}
	for i, x := range f.Instructions {
		list = append(list, entry{fmt.Sprintf("$.instructions[%d]", i), "instructions " + x.Path, x.Text, true})
	}
	for _, k := range slices.Sorted(maps.Keys(f.Metadata.Labels)) {
		list = append(list, entry{"$.metadata.labels." + k, "label " + k, f.Metadata.Labels[k], false})
	}
	for i, d := range f.Security.Destinations {
		list = append(list, entry{fmt.Sprintf("$.security.destinations[%d]", i), "security.destinations", d, false})
	}
	for i, d := range f.Security.Identity {
		list = append(list, entry{fmt.Sprintf("$.security.identity[%d]", i), "security.identity", d, false})
	}
	return list
}

// inbound looks at what the task's own texts bring in. A secret in them would go to
// the model and into the trace, which is never altered, so it is a fault; the value
// of a sensitive parameter is redacted instead, since its owner said what it is.
// What reads like somebody else's orders is recorded and warned of: a goal is orders
// too, so that is no reason to refuse it.
func (r *Run) inbound() error {
	var faults []error
	for _, e := range r.entries() {
		text := r.withoutSensitive(e)
		if secret, ok := r.hider.HasKnown(text); ok {
			faults = append(faults, r.unquoted(e.path, "%s holds the value of the secret %s, which the model must not read: name it instead", e.name, secret))
		} else if shape, ok := r.hider.HighConfidence(text); ok {
			faults = append(faults, r.unquoted(e.path, "%s holds what looks like a secret (%s), and the model would read it: declare it under secrets, or give it as a sensitive parameter", e.name, shape))
		}
		if e.orders {
			r.suspect(e)
		}
	}
	return strictyaml.Join(faults...)
}

// clean takes what must not be shown out of the texts of the task.
func (r *Run) clean() {
	t := &r.Task
	t.Goal, t.Labels = r.Bridge.CleanText(t.Goal), maps.Clone(t.Labels)
	for k, v := range t.Labels {
		t.Labels[k] = r.Bridge.CleanText(v)
	}
	for _, list := range []*[]string{&t.Says, &t.Instructions, &t.Destinations, &t.Identity} {
		*list = slices.Clone(*list)
		for i, text := range *list {
			(*list)[i] = r.Bridge.CleanText(text)
		}
	}
}

// unquoted is a fault that does not show the line, which holds the secret.
func (r *Run) unquoted(path, format string, args ...any) error {
	f := r.File.Fault(path, format, args...)
	f.Excerpt = ""
	return f
}

// withoutSensitive is a text without the values of sensitive parameters.
func (r *Run) withoutSensitive(e entry) string {
	text := e.text
	for _, name := range slices.Sorted(maps.Keys(r.File.SensitiveParams)) {
		v := r.File.SensitiveParams[name]
		if v == "" || !strings.Contains(text, v) {
			continue
		}
		text = strings.ReplaceAll(text, v, "[redacted]")
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s holds the value of the sensitive parameter %s: the model reads it redacted", e.name, name))
	}
	return text
}

func (r *Run) suspect(e entry) {
	report := scan.Injection(e.text)
	if report.Score < scan.Suspicious {
		return
	}
	x := engine.Inbound{Setting: strings.TrimPrefix(e.path, "$."), Score: report.Score}
	for _, h := range report.Hits {
		x.Rules = append(x.Rules, h.Rule)
	}
	r.Task.Inbound = append(r.Task.Inbound, x)
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s reads like orders that somebody else put there (score %.2f: %s): %s", e.name, x.Score,
		strings.Join(x.Rules, ", "), cmp.Or(report.Hits[0].Excerpt, "hidden text")))
}
