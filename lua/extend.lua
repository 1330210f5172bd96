-- KEYS[1] key, ARGV[1] value, ARGV[2] TTL in ms.
-- 1: ours, and it expires no sooner than in TTL. Nil: absent. Else: the value found.
local found = redis.call('GET', KEYS[1])
if found == ARGV[1] then
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	return 1
end
return found and string.sub(found, 1, 256)
