// Chooses the waiting batches of a part of a tablet that go into one write operation, and makes
// that operation. Pure. Internal to the room.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/string_hash.h"
#include "kv/engine.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// What a key is in some state of the part.
struct KeyState {
  uint64_t stamp = 0;            // 0: absent
  std::optional<int64_t> count;  // if its value may be a counter
  size_t bytes = 0;              // of its value
};
KeyState StateOfValue(std::string_view value);

// What is known of a part's durable state at some stamp. A key that is not in it is not known.
using KnownKeys = std::unordered_map<std::string, KeyState, StringHash, std::equal_to<>>;

// What a group may know of the size of its part.
struct GroupSize {
  PartSize before;
  uint64_t max_bytes = UINT64_MAX;
  bool is_final = false;  // it was counted for this group, and all keys of its batches are known:
                          // nothing can be found out any more
  // Returns the size of the value that a key had at a stamp (nullopt: when it was last seen), if it
  // is cached. May be null.
  std::function<std::optional<size_t>(std::string_view key, std::optional<uint64_t> stamp)> seen;
};

// Batches of one part on top of its state at `base_stamp`. They see those before them in the group.
// Those that joined must outlive it and stay as they are; what is said of keys and values here are
// views of them.
class Group {
 public:
  // `known` must outlive the group and stay as it is until Learn. It is fresh if it was read after
  // all batches of the group had come: only then it may refuse one, for another process may have
  // changed the part since.
  Group(uint64_t base_stamp, const KnownKeys& known, bool known_is_fresh, GroupSize size = {})
      : base_stamp_(base_stamp),
        known_(known),
        known_is_fresh_(known_is_fresh),
        limits_(std::move(size)),
        size_(limits_.before) {}

  enum class Verdict {
    kJoined,
    kRefused,  // certain, whatever becomes of the group
    kRead,     // it depends on keys that are not known, or were known long ago (KeysOf tells which)
    kNextGroup,  // it contradicts batches of this group, which are not durable yet: let it wait for
                 // them
    kCount,      // it would make the part too large if that is right, which is not sure: count, and
                 // read all its keys
  };
  // Completes the puts of a batch that joins with its stamp. `refusal` is set with kRefused.
  Verdict Join(kv::Batch* batch, Error* refusal);
  // The keys whose states decide about the batch; with those that it changes, which decide about
  // the size of the part.
  static void KeysOf(const kv::Batch& batch, bool with_changes, std::vector<std::string>* keys);

  // Returns the stamp of the last batch that joined; base_stamp if none has.
  uint64_t last_stamp() const { return last_stamp_; }
  uint64_t base_stamp() const { return base_stamp_; }
  bool empty() const { return last_stamp_ == base_stamp_; }
  // Returns the size of the part after the group.
  const PartSize& size() const { return size_; }
  // Returns the bytes of the cells that the batches replace, remove and put, as far as they are
  // known. It bounds the error of a count that sees only some of the batches.
  uint64_t changed_bytes() const { return changed_bytes_; }

  // The write operation has, in this order: the guards, which all see the state before it; the
  // deleted ranges of keys; the final changes. A change that a later batch deletes again is left
  // out, because a range delete of BlueStore does not see writes of its own operation.
  struct Span {
    std::string begin;
    std::string end;  // empty: no bound
  };
  struct Change {
    std::optional<std::string_view> value;  // none: delete
    bool is_new =
        true;  // the key may not have been there before, so it is not in the reverse order either
    bool once = false;  // the key holds its stamp: nobody puts it again
    KeyState state;     // that it leaves behind
  };
  const std::map<std::string_view, uint64_t>& guards() const {
    return guards_;
  }  // by key; 0: absent
  const std::vector<Span>& deleted() const { return deleted_; }
  const std::map<std::string_view, Change>& changes() const { return changes_; }

  // Updates `known` after the group became durable, and adds the keys that the group put. A later
  // guard on one of these keys needs no read of the cluster, as long as no other process writes.
  void Learn(KnownKeys* known) const;

 private:
  // What the group made of a key, if anything.
  std::optional<KeyState> Changed(std::string_view key) const;
  // Returns the bytes that a key takes before the batch, as far as the cache and the guards of
  // `asked` tell; nullopt if they are not known. Sets *present to whether the key probably exists
  // then.
  std::optional<size_t> BytesOf(std::string_view key,
                                const std::map<std::string_view, uint64_t>& asked,
                                bool* present) const;
  // Returns the part's size after this batch and all batches before it.
  PartSize SizeWith(const kv::Batch& batch, const std::map<std::string_view, uint64_t>& asked,
                    uint64_t* changed_bytes) const;
  void Record(std::string_view key, std::optional<std::string_view> value, KeyState state,
              bool once = false);

  const uint64_t base_stamp_;
  const KnownKeys& known_;
  const bool known_is_fresh_;
  const GroupSize limits_;
  uint64_t last_stamp_ = base_stamp_;
  std::map<std::string_view, uint64_t> guards_;
  std::vector<Span> deleted_;
  std::map<std::string_view, Change> changes_;  // since the last range delete that covers the key
  std::deque<std::string> counters_;            // values that stand in no batch
  PartSize size_;
  uint64_t changed_bytes_ = 0;
};

}  // namespace stator::kv_rados
