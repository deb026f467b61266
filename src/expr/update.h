// What is behind an Update.
#pragma once

#include "expr/expr.h"
#include "expr/parse.h"
#include "expr/path_trie.h"

namespace stator::expr {

struct UpdateTree {
  Tree tree;
  std::vector<Action> actions;
  PathTrie trie;  // of the targets; a leaf is the position of its action
};

// Returns the names of the top-level attributes that the update mentions, each once: targets and
// operands.
std::vector<std::string> TopLevelAttributes(const Update& update);

// How many lists and maps lie within each other, this one included; 0 for anything else.
int ContainerLevels(model::ValueView value);

}  // namespace stator::expr
