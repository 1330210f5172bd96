package plan

// A Fault is a kind of step. Where it can run is for the cluster to say.
type Fault struct {
	Name      string
	About     string
	OfClients bool // strikes Clients, not Nodes
	Instant   bool // has no duration

	needsRate, needsBy bool
}

// The faults.
const (
	Kill          = "kill"
	RestartForget = "restart-forget"
	RestartLate   = "restart-late"
	Pause         = "pause"
	Partition     = "partition"
	Cut           = "cut"
	Slow          = "slow"
	DropRequest   = "drop-request"
	DropReply     = "drop-reply"
	Duplicate     = "duplicate"
	LateDeliver   = "late-deliver"
	Reset         = "reset"
	ErrorReply    = "error-reply"
	Flush         = "flush"
	ClockJump     = "clock-jump"
	ClockRate     = "clock-rate"
	ClockStrobe   = "clock-strobe"

	CrashClient     = "crash-client"
	PauseClient     = "pause-client"
	ClientClockJump = "client-clock-jump"
	ClientClockRate = "client-clock-rate"
)

// Faults are all faults.
var Faults = []Fault{
	{Name: Kill, About: "the node dies and comes back with its keys (appendfsync always)"},
	{Name: RestartForget, About: "the node dies and comes back at the end without its keys"},
	{Name: RestartLate, About: "the same, but it stays away for longer than the longest TTL"},
	{Name: Pause, About: "the node stops (SIGSTOP) and then carries out what it was sent"},
	{Name: Partition, About: "the network between these clients and nodes is cut"},
	{Name: Cut, About: "the node's machine loses its network: connections end, new ones are refused"},
	{Name: Slow, About: "replies of the node come later", needsBy: true},
	{Name: DropRequest, About: "requests to the node are lost"},
	{Name: DropReply, About: "requests are carried out, their replies are lost"},
	{Name: Duplicate, About: "requests are carried out twice, the second time later"},
	{Name: LateDeliver, About: "requests arrive after their client has given them up", needsBy: true},
	{Name: Reset, About: "connections are reset instead of requests delivered"},
	{Name: ErrorReply, About: "the node answers with an error (LOADING, OOM, READONLY, ...)"},
	{Name: Flush, About: "the node loses its keys (FLUSHALL, eviction, failover)", Instant: true},
	{Name: ClockJump, About: "the node's clock is set", Instant: true, needsBy: true},
	{Name: ClockRate, About: "the node's clock runs at another rate", needsRate: true},
	{Name: ClockStrobe, About: "the node's clock jumps to and fro", needsBy: true},
	{Name: CrashClient, About: "the client ends without a word, and another one starts", OfClients: true, Instant: true},
	{Name: PauseClient, About: "the client stops between looking at its lock and writing", OfClients: true},
	{Name: ClientClockJump, About: "the client's clock is set", OfClients: true, Instant: true, needsBy: true},
	{Name: ClientClockRate, About: "the client's clock runs at another rate", OfClients: true, needsRate: true},
}

// Find returns the fault called name.
func Find(name string) (Fault, bool) {
	for _, f := range Faults {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}
