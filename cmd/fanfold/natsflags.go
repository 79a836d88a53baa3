package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/node"
)

// urlList is the value of a flag with URLs separated by commas, which may be given several times. Its errors, and what
// --help shows of it, have no password in them.
type urlList struct{ list *string }

// Set adds to the list. It takes any text but an empty one: what is wrong with a URL is said where it is used, without
// showing it.
func (u urlList) Set(text string) error {
	if text == "" {
		return errEmpty
	}
	*u.list = strings.TrimPrefix(*u.list+","+text, ",")
	return nil
}

// String returns the list without users and passwords.
func (u urlList) String() string {
	if u.list == nil || *u.list == "" {
		return ""
	}
	return servers.ShownURLs(*u.list)
}

// Type returns what --help calls the value.
func (u urlList) Type() string { return "URL,..." }

// natsFlags adds the flags about outside NATS servers. None of them takes a secret itself, for others see a process's
// arguments.
func natsFlags(f *pflag.FlagSet, cfg *node.Config) {
	f.StringVar(&cfg.NATSListen, "nats-listen", "", "open the embedded NATS server to ordinary clients on this address, which may read the log")
	f.StringVar(&cfg.NATSAuth, "nats-auth", "", "file with the public NKeys of the clients of --nats-listen, one a line; without it whoever reaches an open node may read")
	serverFlags(f, cfg)
	f.DurationVar(&cfg.SnapshotEvery, "snapshot-every", 0, "time between two copies of the read model for new nodes, on outside servers; 0 for none")
}

// serverFlags adds the flags that lead to the servers.
func serverFlags(f *pflag.FlagSet, cfg *node.Config) {
	f.Var(urlList{&cfg.NATS}, "nats", "URLs of NATS servers to keep the log on, instead of the embedded one")
	c := &cfg.Credentials
	f.StringVar(&c.User, "nats-user", "", "user at the NATS servers")
	f.StringVar(&c.PasswordFile, "nats-password-file", "", "file with the user's password")
	f.StringVar(&c.TokenFile, "nats-token-file", "", "file with a token for the NATS servers")
	f.StringVar(&c.CredsFile, "nats-creds", "", "credentials file for the NATS servers, a JWT and its seed, as nsc writes it")
	f.StringVar(&c.NKeyFile, "nats-nkey", "", "file with the seed of an NKey for the NATS servers")
	f.StringVar(&c.CAFile, "nats-ca", "", "file with the certificates of the authorities that sign those of the NATS servers, in PEM")
	f.StringVar(&c.CertFile, "nats-cert", "", "file with this node's certificate for the NATS servers, in PEM")
	f.StringVar(&c.KeyFile, "nats-key", "", "file with the certificate's private key, in PEM")
	f.IntVar(&cfg.Replicas, "replicas", 0, "replicas of the log where this node makes it on outside servers; 0 for 3 where they form a cluster of three, else 1")
}
