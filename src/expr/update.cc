#include "expr/update.h"

#include <algorithm>

#include "expr/bind.h"
#include "expr/projection.h"

namespace stator::expr {

namespace {
constexpr std::string_view kParameter = "UpdateExpression";
}  // namespace

Result<Update> ParseUpdate(std::string_view text, Substitutions* subs) {
  auto update = std::make_shared<UpdateTree>();
  Tree& tree = update->tree;
  ASSIGN_OR_RETURN(UpdateSyntax syntax, ParseUpdateText(kParameter, text, &tree));
  TRY(BindUpdate(kParameter, syntax, subs, &tree));
  std::vector<NodeId> targets;
  targets.reserve(syntax.actions.size());
  for (const Action& action : syntax.actions) targets.push_back(action.path);
  TRY(BuildPathTrie(kParameter, tree, targets, &update->trie));
  TRY(BindUpdateValues(kParameter, subs, &tree));
  TRY(CheckUpdateTypes(kParameter, syntax, &tree));
  update->actions = std::move(syntax.actions);
  return Update(std::move(update));
}

std::vector<std::string> TargetAttributes(const Update& update) {
  if (!update.present()) return {};
  const UpdateTree& tree = *update.tree();
  TopLevelNames names(tree.tree);
  for (const Action& action : tree.actions) names.Add(tree.tree.nodes[action.path]);
  return names.Take();
}

std::vector<std::string> TopLevelAttributes(const Update& update) {
  if (!update.present()) return {};
  const Tree& tree = update.tree()->tree;
  TopLevelNames names(tree);
  for (const Node& node : tree.nodes) {
    if (node.op == Op::kPath) names.Add(node);
  }
  return names.Take();
}

bool OnlyRemoves(const Update& update) {
  if (!update.present() || update.tree()->actions.empty()) return false;
  const auto& actions = update.tree()->actions;
  return std::all_of(actions.begin(), actions.end(),
                     [](const Action& a) { return a.kind == Action::kRemove; });
}

int ValueWritingActions(const Update& update) {
  if (!update.present()) return 0;
  return static_cast<int>(update.tree()->actions.size()) - ClearingActions(update);
}

int ClearingActions(const Update& update) {
  if (!update.present()) return 0;
  const auto& actions = update.tree()->actions;
  return static_cast<int>(std::count_if(actions.begin(), actions.end(), [](const Action& action) {
    return action.kind == Action::kRemove || action.kind == Action::kDelete;
  }));
}

std::string UpdatedFragments(const Update& update, model::ItemView image) {
  if (!update.present() || !image.exists()) return "";
  size_t count = 0;
  std::string fragments = ProjectPaths(update.tree()->tree, update.tree()->trie, image, &count);
  if (count == 0) fragments.clear();
  return fragments;
}

}  // namespace stator::expr
