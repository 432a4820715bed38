package mcp_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// newSDKServer is a well-behaved server, of the newest revision of the protocol.
func newSDKServer(versions ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
	type in struct {
		Name string `json:"name" jsonschema:"the person to greet"`
	}
	type out struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "greet", Description: "Greets.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, out, error) {
		return nil, out{"Hi " + a.Name}, nil
	})
	return s
}

// serveSDK is the program that tests start as a server that behaves.
func serveSDK() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := newSDKServer().Run(ctx, &sdk.StdioTransport{}); err != nil && ctx.Err() == nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}
