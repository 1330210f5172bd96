// Package live holds tests of the lock on live nodes: miniredis inside the test's
// process and redis-server as processes of the machine.
//
// Most tests run on both. Those on processes skip on a machine without
// redis-server, unless the environment variable REDLOCK_REQUIRE contains
// "process": then they fail.
package live
