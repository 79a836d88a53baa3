package main

import (
	"context"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/console"
	"github.com/fanfold/fanfold/internal/memory"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/sqlite"
)

func serveCommand() *cobra.Command {
	cfg, model, maxLag := node.Config{}, "", ""
	var logFormat, logLevel, readOnly string
	var web webConsole
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node: the log, the projector, the read model and the HTTP API",
		Long: `Run a node. By default it needs nothing else: the log is an embedded NATS server that
keeps its files in the data directory, beside the read model.

With --read-only serve a read model that fanfold replay --to has made, without a log: reads of one
position, and no writes. Nothing is written into its directory.`,
		Example: `  fanfold serve
  fanfold serve --data /var/lib/fanfold --model model.yaml
  fanfold serve --read-only ./monday --listen 127.0.0.1:8081
  fanfold serve --data ./node1 --nats nats://nats1:4222,nats://nats2:4222,nats://nats3:4222`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.Logger, err = newLogger(standardError(), logFormat, logLevel); err != nil {
				return err
			}
			if cfg.MaxLag, err = membership.ParseLagBound(maxLag); err != nil {
				return fanfold.Errorf(fanfold.Invalid, "--max-lag: %s", fanfold.MessageOf(err))
			}
			if cfg.API.Console, err = web.open(); err != nil {
				return err
			}
			if readOnly != "" {
				cfg.Data = readOnly
				return serveReadOnly(cmd, cfg)
			}
			return serve(cmd.Context(), cfg, model)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Data, "data", "fanfold-data", "directory for the log and the read model")
	f.StringVar(&readOnly, "read-only", "", "directory of a read model that fanfold replay --to has made, which is served without a log")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:8080", "address of the HTTP API")
	f.IntVar(&cfg.MaxConnections, "max-connections", 50_000, "connections to the HTTP API at a time; others wait to be accepted")
	f.Var(nameList{&cfg.Hosts}, "host", "names by which the API may be called besides localhost and addresses")
	f.Var(nameList{&cfg.Origins}, "cors-origin", "web origins, such as https://app.example, whose pages may read and write; * lets pages of all origins read")
	web.flags(f)
	accessFlags(f, &cfg)
	natsFlags(f, &cfg)
	f.DurationVar(&cfg.API.ShutdownDelay, "shutdown-delay", 0, "how long to serve on after SIGTERM, no longer ready, until a balancer has seen that (two of its health checks)")
	f.DurationVar(&cfg.API.ShutdownTimeout, "shutdown-timeout", api.DefaultShutdownTimeout, "how long ending may take after that")
	f.StringVar(&logFormat, "log-format", "text", "of the log on standard error: text or json")
	f.StringVar(&logLevel, "log-level", "info", "from which on there are lines: debug, info, warn or error")
	lookFlags(f, &cfg)
	f.StringVar(&model, "model", "", "model file to apply at the start, where it differs from the one that applies")
	f.BoolVar(&cfg.AllowRemoval, "allow-removal", false, "let --model take away rules and guards of the model that applies")
	f.StringVar(&cfg.Durability, "durability", "always", "of the embedded log: always (an acknowledged write survives loss of power) or interval")
	f.Int64Var(&cfg.API.MaxSending, "max-sending", 0, "bytes of answers, exports and feeds that are held in memory at a time while clients read them (default 268435456, or an eighth of the memory if that is less)")
	f.Int64Var(&cfg.Cache, "cache", sqlite.DefaultCache, "bytes of the read model's file that are kept in memory, where the system has it; 2 GiB is the most")
	f.StringVar(&cfg.Advertise, "advertise", "", "URL at which this node is reached, as fanfold status shows it (default that of --listen)")
	f.Var(retainFlag{&cfg.Retain}, "retain", "how much of its history the store keeps, such as 90d or 1h: what is older goes by itself (default all of it)")
	f.StringVar(&maxLag, "max-lag", "1m", "events, such as 10000, or time, such as 30s, that the node may be behind the log and still be ready")
	return cmd
}

// serveGroups are the groups in which help lists the flags of serve: those whose names begin so. The last takes what is left.
var serveGroups = []struct {
	title string
	names *regexp.Regexp
}{
	{"The store", regexp.MustCompile(`^(data|read-only|model|allow-removal|retain|durability|snapshot-every|replicas)$`)},
	{"Addresses", regexp.MustCompile(`^(listen|host|base-path|advertise|cors-origin|max-connections|webhook-allow|tls-.*|plaintext|insecure|console.*)$`)},
	{"Who may do what", regexp.MustCompile(`^(admin-key-file|anonymous|max-auth-age|token-.*)$`)},
	{"The log on NATS servers", regexp.MustCompile(`^nats.*$`)},
	{"Running and ending", regexp.MustCompile(``)},
}

// accessFlags adds the flags that say who reaches a node, and as whom, and whom it reaches.
func accessFlags(f *pflag.FlagSet, cfg *node.Config) {
	f.BoolVar(&cfg.Insecure, "insecure", false, "let others reach --listen, --nats-listen and --debug-listen without a key and without TLS")
	f.StringVar(&cfg.TLSCert, "tls-cert", "", "file with the certificate that the node shows, and those between it and its authority, in PEM; read again when it changes")
	f.StringVar(&cfg.TLSKey, "tls-key", "", "file with the certificate's private key, in PEM")
	f.StringVar(&cfg.API.Prefix, "base-path", "", "path such as /store that a proxy puts before those of the API, whether it takes it away or not")
	f.BoolVar(&cfg.Plaintext, "plaintext", false, "let others reach the node without TLS, for it ends before the node: in a proxy, or in a balancer")
	f.StringVar(&cfg.AdminKeyFile, "admin-key-file", "", "file with a key, as fanfold keys new prints it, that has the role admin; read again when it changes")
	f.Var(networks{&cfg.WebhookAllow}, "webhook-allow", "private networks, such as 10.1.0.0/16, to which batches of groups may be posted, also without TLS")
	tokenFlags(f, &cfg.Tokens)
	f.BoolVar(&cfg.Anonymous, "anonymous", false, "let in requests without a key, with the role everyone")
	f.DurationVar(&cfg.MaxAuthAge, "max-auth-age", keys.DefaultMaxAge, "how long the node goes by the keys that it has read, where the log cannot be asked")
}

// tokenFlags adds the flags about the tokens of an issuer.
func tokenFlags(f *pflag.FlagSet, of *tokens.Options) {
	f.StringVar(&of.Issuer, "token-issuer", "", "who signs JSON Web Tokens that let in, too: the iss that they have, such as https://issuer.example")
	f.StringVar(&of.Audience, "token-audience", "", "the aud that such tokens have")
	f.StringVar(&of.Keys, "token-keys", "", "file with the issuer's public keys, a JSON Web Key Set or PEM, read again when it changes, or their https URL (default what the issuer's discovery document says)")
	f.StringVar(&of.Roles, "token-roles", "roles", "member of a token with the roles of its holder; a path, such as realm_access.roles, leads below others")
	f.Var(roleMap{&of.Map}, "token-map", "outside=role: the role that a name in that member stands for; the roles admin, write, read and monitor come by it alone (may be given again)")
}

// serve runs a node until ctx ends. path names a model file to apply at the start, "" none; a mistake in it is the
// error before anything is started.
func serve(ctx context.Context, cfg node.Config, path string) error {
	var model []byte
	if path != "" {
		var err error
		if model, err = readModelFile(path); err == nil {
			_, err = modelfile.Parse(model)
			err = modelfile.Locate(err, model, "")
		}
		if err != nil {
			return err
		}
	}
	defer memory.Reserve()()
	n, err := node.Open(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // interrupted while it opened: the end that was asked for
		}
		return err
	}
	cfg.Logger.Info("fanfold is ready", "url", n.URL(), "data", cfg.Data, "applied", n.Store.Applied.Seq())
	if cfg.NATS != "" {
		cfg.Logger.Info("durability is the outside server's: unverified; set sync_interval: always on every server")
	}
	return n.Run(ctx, func(ctx context.Context) error {
		if model == nil {
			return nil
		}
		return n.ApplyModel(ctx, model)
	})
}

// ofLog lists flags about the log and what lies beside it.
var ofLog = []string{"data", "nats", "nats-user", "nats-password-file", "nats-token-file", "nats-creds", "nats-nkey", "nats-ca", "nats-cert", "nats-key", "replicas",
	"snapshot-every", "retain", "nats-listen", "nats-auth", "durability", "model", "allow-removal", "advertise", "max-lag", "max-auth-age", "webhook-allow",
	"token-issuer", "token-audience", "token-keys", "token-roles", "token-map"}

// serveReadOnly serves the read model in cfg.Data until the command's context ends. Settings of the log in the environment and the
// configuration do not matter.
func serveReadOnly(cmd *cobra.Command, cfg node.Config) error {
	for _, name := range ofLog {
		if cmd.Flags().Changed(name) {
			return fanfold.Errorf(fanfold.Invalid, "--%s is about a server with a log, and --read-only serves a read model without one: leave one of them out", name)
		}
	}
	r, err := node.OpenReadOnly(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	cfg.Logger.Info("fanfold is ready, and takes no writes", "url", r.URL(), "data", cfg.Data, "position", r.Info.Position.String(), "time", r.Info.Time)
	return r.Run(cmd.Context())
}

// lookFlags adds the flags of traces and profiles.
func lookFlags(f *pflag.FlagSet, cfg *node.Config) {
	f.StringVar(&cfg.Trace.Endpoint, "trace-endpoint", "", "URL to which traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318")
	f.Float64Var(&cfg.Trace.Ratio, "trace-ratio", 1, "share of requests that are traced, of those that bring no trace context")
	f.StringVar(&cfg.DebugListen, "debug-listen", "", "address for profiles (pprof)")
}

// webConsole says which console a server has.
type webConsole struct {
	on  bool
	dir string // of its files; "" for those in the program
}

// flags adds the flags of the console.
func (w *webConsole) flags(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "console", true, "serve the web console at /_console/")
	f.StringVar(&w.dir, "console-dir", "", "directory of the console's files, read at each request while one works on them, in place of those in the program")
}

// open returns the console, nil for none. The error is Invalid for a directory that does not have its files.
func (w *webConsole) open() (api.Console, error) {
	switch {
	case w.on:
		return console.New(w.dir)
	case w.dir != "":
		return nil, fanfold.Errorf(fanfold.Invalid, "--console-dir names the files of a console, and --console=false wants none: leave one of them out")
	}
	return nil, nil //nolint:nilnil // no console
}
