-- KEYS[1] key, ARGV[1] value.
-- 1: ours, and deleted. Nil: absent. Else: the value found.
local found = redis.call('GET', KEYS[1])
if found == ARGV[1] then
	redis.call('DEL', KEYS[1])
	return 1
end
return found and string.sub(found, 1, 256)
