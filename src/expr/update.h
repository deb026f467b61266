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

// How many lists and maps lie within each other, this one included; 0 for anything else.
int ContainerLevels(model::ValueView value);

}  // namespace stator::expr
