package tools

import (
	"context"
	"strings"

	"github.com/codeact-dev/codeact/bridge"
	"github.com/codeact-dev/codeact/bridge/egress"
	"github.com/codeact-dev/codeact/policy"
)

// A Searcher asks one search engine, which the operator chose.
type Searcher interface {
	// Search sends the query through h, and by no other way: h is what the
	// client's guard and the label of the result depend on. Of an error the model
	// reads the text; it says what the operator can do.
	Search(ctx context.Context, h *bridge.HTTP, query string) ([]Found, error)
}

// Found is one result of a search: third-party text, all of it.
type Found struct{ Title, URL, Snippet string }

// Bounds of what a search returns: what a model reads before it picks a page.
const (
	maxFound   = 20
	maxTitle   = 200  // bytes
	maxSnippet = 600  // bytes
	maxAddress = 2000 // bytes: many servers refuse longer ones
)

// webSearch has no destination parameter, since the operator chose where queries
// go. So it is the query that the named-destinations gate judges: after an
// untrusted read, one that the user did not write asks. It can carry a secret out
// as well as any other text.
func webSearch(o Options) bridge.Tool {
	return bridge.Tool{
		Name: "web_search",
		Doc:  "Searches the web and returns at most 20 records {title, url, snippet}. Read a page with http_fetch.",
		Params: bridge.MustSchema(`{"type":"object","required":["query"],"properties":{
			"query":{"type":"string","minLength":1,"maxLength":400}}}`),
		Caps:   policy.Declare(policy.UntrustedInput, policy.ExternalSend),
		Record: policy.RecordSpec{Opaque: true},
		Run: func(ctx context.Context, p *bridge.Permit) (bridge.Output, error) {
			if o.Search == nil {
				return bridge.Output{Local: true}, errNoSearch
			}
			found, err := o.Search.Search(ctx, p.HTTP(), p.String("query"))
			if err != nil {
				return bridge.Output{Local: true}, err // external all the same once the network was reached
			}
			return bridge.Output{Value: records(found)}, nil
		},
	}
}

// records are the results that lead to the web, cut to what is worth reading.
func records(found []Found) []any {
	list := []any{}
	for _, f := range found {
		if len(list) == maxFound {
			break
		}
		if _, err := egress.ParseURL(f.URL); err != nil || len(f.URL) > maxAddress {
			continue // http_fetch would not read it, and a page that links to it might
		}
		list = append(list, map[string]any{"title": cut(f.Title, maxTitle), "url": f.URL, "snippet": cut(f.Snippet, maxSnippet)})
	}
	return list
}

// cut is at most so many bytes of a text, in one line.
func cut(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return string(wholeRunes([]byte(text[:most-len("…")]))) + "…"
}
