// Expressions of requests: condition, filter, key condition, projection and update expressions, and
// the legacy parameters that say the same things. Text goes in with the request's substitutions;
// out comes an immutable compiled form that is evaluated against encoded items. Pure: no clock, no
// storage, no threads.
//
// Compiled forms own everything they need (the request's strings may go away), are cheap to copy
// and to move, and may be used by several threads at once. A default-made one stands for "the
// parameter was absent": a condition that always holds, a projection of everything, an update
// without actions.
//
// Every error is kValidation with the service's text, complete with its "Invalid
// ConditionExpression: " prefix. All syntax and operand checks happen when parsing, before any item
// is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/value.h"

namespace stator::expr {

// --- Substitutions -------------------------------------------------------------------------------

// ExpressionAttributeNames and ExpressionAttributeValues of one request; remembers which were used
// by the expressions parsed with it.
class Substitutions {
 public:
  // "#name" -> attribute name. Refuses an empty map, a key that is no #name or longer than 255
  // bytes, an attribute name that is empty or longer than 65535 bytes, and names and values of more
  // than 2 MB together. Call once.
  Status SetNames(std::vector<std::pair<std::string, std::string>> names);
  // ":name" -> encoded value, likewise. The values are valid already. Call once, after SetNames.
  Status SetValues(std::vector<std::pair<std::string, std::string>> values);
  // To be asked when all expressions of the request are parsed: error if some name, else if some
  // value, was never used.
  Status CheckAllUsed() const;

  struct Entry {
    std::string key;
    std::string substitute;
    bool used = false;
    // Where the tree that is being bound keeps the substitute; known if stored_in is StartTree's.
    uint32_t stored_in = 0;
    uint32_t stored_at = 0;
  };

  // Return the substitute for a reference, and mark it as used; nullptr if there is none. The
  // caller may set stored_at and stored_in.
  Entry* UseName(std::string_view reference) { return Use(&names_, reference); }
  Entry* UseValue(std::string_view reference) { return Use(&values_, reference); }
  // Returns a number, never 0, for a tree that is about to be bound: a substitute is stored in it
  // once, whatever the number of its references.
  uint32_t StartTree() { return ++trees_; }

 private:
  static Entry* Use(std::vector<Entry>* entries, std::string_view key);
  Status Set(std::string_view parameter, char sigil,
             std::vector<std::pair<std::string, std::string>> pairs, std::vector<Entry>* entries);
  static Status CheckUsed(std::string_view parameter, const std::vector<Entry>& entries);

  std::vector<Entry> names_;   // sorted by key
  std::vector<Entry> values_;  // sorted by key
  size_t total_bytes_ = 0;
  uint32_t trees_ = 0;
};

// --- Conditions ----------------------------------------------------------------------------------

enum class Role {
  kCondition,
  kFilter,
  kKeyCondition
};  // ConditionExpression, FilterExpression, KeyConditionExpression

struct ConditionTree;

// A parsed and bound condition.
class Condition {
 public:
  Condition() = default;  // always holds
  explicit Condition(std::shared_ptr<const ConditionTree> tree) : tree_(std::move(tree)) {}
  // False for a default-made one.
  bool present() const { return tree_ != nullptr; }
  const ConditionTree* tree() const { return tree_.get(); }

 private:
  std::shared_ptr<const ConditionTree> tree_;
};

Result<Condition> ParseCondition(std::string_view text, Role role, Substitutions* subs);

// Returns whether the condition holds for `item`, which may be "no item" (then every path is
// missing). Adds to *steps what the evaluation cost: a step is the visit of a node or of an entry
// of a map or list, a byte searched or counted, or 64 bytes compared; about 4 ns.
bool Evaluate(const Condition& condition, model::ItemView item, uint64_t* steps = nullptr);

// Returns a bound of the steps that Evaluate takes on any item whose encoding has `item_bytes`.
uint64_t MostSteps(const Condition& condition, size_t item_bytes);

// Names of the top-level attributes that the condition mentions, each once, in order of appearance.
std::vector<std::string> TopLevelAttributes(const Condition& condition);

// One restriction of a key attribute. `value2` is the upper bound of kBetween, else empty.
struct KeyConditionPart {
  enum Op { kEq, kLt, kLe, kGt, kGe, kBetween, kBeginsWith };
  std::string attribute;
  Op op = kEq;
  std::string value;   // encoded
  std::string value2;  // encoded
};

// Takes apart a condition of Role::kKeyCondition (from text or from legacy KeyConditions), in order
// of appearance; each attribute occurs once. Knows no schema: which attributes must be there, that
// the partition key takes kEq only, and that types match is the caller's to check. More than
// `max_parts` are refused: two, but for keys of several attributes.
Result<std::vector<KeyConditionPart>> ExtractKeyConditions(const Condition& condition,
                                                           size_t max_parts = 2);

// --- Projections ---------------------------------------------------------------------------------

struct ProjectionTree;

class Projection {
 public:
  Projection() = default;  // everything
  explicit Projection(std::shared_ptr<const ProjectionTree> tree) : tree_(std::move(tree)) {}
  bool present() const { return tree_ != nullptr; }
  const ProjectionTree* tree() const { return tree_.get(); }

 private:
  std::shared_ptr<const ProjectionTree> tree_;
};

Result<Projection> ParseProjection(std::string_view text, Substitutions* subs);

// The encoded item that holds the projected paths of `item`; an item without attributes if none of
// them exists.
std::string Project(const Projection& projection, model::ItemView item);

// Names of the top-level attributes projected, each once. Empty for a default-made projection.
std::vector<std::string> TopLevelAttributes(const Projection& projection);

// --- Updates -------------------------------------------------------------------------------------

struct UpdateTree;

class Update {
 public:
  Update() = default;  // no actions
  explicit Update(std::shared_ptr<const UpdateTree> tree) : tree_(std::move(tree)) {}
  bool present() const { return tree_ != nullptr; }
  const UpdateTree* tree() const { return tree_.get(); }

 private:
  std::shared_ptr<const UpdateTree> tree_;
};

Result<Update> ParseUpdate(std::string_view text, Substitutions* subs);

// Returns the top-level names of all targets, each once, in order of appearance. Callers check that
// none of them is a key.
std::vector<std::string> TargetAttributes(const Update& update);

struct Updated {
  std::string item;  // encoded; empty if there was no item and none comes into being
  bool removes_only_on_missing_item = false;  // then `item` is empty
};

// The error text for an update whose result exceeds model::kMaxItemBytes.
inline constexpr std::string_view kUpdatedItemTooLarge =
    "Item size to update has exceeded the maximum allowed size";

// Returns the item after the update. `key` holds the key attributes as an encoded item, used when
// `old_item` is missing. Checks the nesting depth of the result. Sizes are added up before values
// are copied: values that are too large together are refused with kUpdatedItemTooLarge and need no
// memory. The caller checks the size of the whole item, which is at most the old item's and 400 KB.
Result<Updated> ApplyUpdate(const Update& update, model::ItemView old_item, model::ItemView key);

// True if there is at least one action and all of them are REMOVE (or legacy DELETE without a
// value). Such an update of a missing item creates nothing. DELETE from a set is not among them: it
// creates an item of the key alone.
bool OnlyRemoves(const Update& update);

// Return the numbers of actions that write a value (SET, ADD) and that clear one (REMOVE, DELETE),
// for the size rule of UpdateItem.
int ValueWritingActions(const Update& update);
int ClearingActions(const Update& update);

// Returns a bound of the steps (see Evaluate) of ApplyUpdate on any item whose encoding has
// `item_bytes`.
uint64_t MostSteps(const Update& update, size_t item_bytes);

// Returns the parts of `image` to which the update's targets point, as an encoded item; empty if
// there are none. For UPDATED_OLD (`image` is the item before) and UPDATED_NEW (the item after).
std::string UpdatedFragments(const Update& update, model::ItemView image);

// --- Legacy parameters ---------------------------------------------------------------------------

// One entry of Expected, QueryFilter, ScanFilter or KeyConditions. Values are encoded.
struct LegacyCondition {
  std::string attribute;
  std::optional<std::string> value;
  std::optional<bool> exists;
  std::optional<std::string> comparison_operator;
  std::optional<std::vector<std::string>> values;
};

// Role::kCondition is Expected (`value` and `exists` are known there only), kFilter is QueryFilter
// or ScanFilter, kKeyCondition is KeyConditions. `conditions` is not empty; rules about
// ConditionalOperator itself are the caller's.
Result<Condition> CompileLegacy(const std::vector<LegacyCondition>& conditions, bool or_together,
                                Role role);

// One entry of AttributeUpdates.
struct LegacyUpdate {
  enum Action { kPut, kAdd, kDelete };
  std::string attribute;
  Action action = kPut;
  std::optional<std::string> value;  // encoded
};
Result<Update> CompileLegacyUpdates(const std::vector<LegacyUpdate>& updates);

// AttributesToGet: top-level names, dots literal.
Result<Projection> CompileAttributesToGet(const std::vector<std::string>& names);

}  // namespace stator::expr
