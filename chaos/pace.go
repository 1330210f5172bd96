package main

import (
	"fmt"

	"github.com/quorumlock/redlock/chaos/check"
	"github.com/quorumlock/redlock/chaos/history"
	"github.com/quorumlock/redlock/chaos/plan"
)

// judge judges a run of the plan; if the plan is to keep its pace, also by that.
func judge(h *history.History, p *plan.Plan) (judged check.Report, rates check.Rates) {
	judged = check.Judge(h, check.Floors(p.Floors))
	if !p.KeepsPace {
		return judged, rates
	}
	rates = check.GrantRate(h)
	if rates.TooSlow() && judged.Verdict == check.AsPromised {
		judged.Verdict, judged.Why = check.Violation, pace(rates)
		judged.Findings = append(judged.Findings, check.Finding{Check: check.CheckRate, Text: judged.Why})
	}
	return judged, rates
}

// pace says what a minority that was down or hung cost; "" if nothing can be said.
func pace(r check.Rates) string {
	cost, ok := r.Cost()
	if !ok {
		return ""
	}
	line := fmt.Sprintf("with a minority down or hung %.3g grants/s, otherwise %.3g: it costs %.0f %%, want %.0f %% at most",
		float64(r.StruckGrants)/r.StruckTime.Seconds(), float64(r.CalmGrants)/r.CalmTime.Seconds(), 100*max(cost, 0), 100*check.MaxCost)
	if cost > check.MaxCost && !r.TooSlow() {
		line += "; of so few grants that comes by chance"
	}
	return line
}
