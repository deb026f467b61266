// A value being edited. Parts that are not edited stay in their encoded form and are copied with
// memcpy.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::model {

// Either encoded bytes, or a map or a list opened one level for editing. Owns nothing of the bytes
// it was made from with FromView: those must outlive it.
class Node {
 public:
  enum class Kind { kEncoded, kMap, kList };

  Node() = default;                            // an empty map
  static Node FromView(ValueView value);       // borrows
  static Node FromOwned(std::string encoded);  // owns
  static Node FromMap(MapView map);            // a kMap node whose children borrow

  Kind kind() const { return kind_; }
  Type type() const;
  // Returns the value of a node of kind kEncoded. (An open node has no view: call Encode.)
  ValueView view() const {
    return ValueView(owned_.empty() ? borrowed_ : std::string_view(owned_));
  }

  // Opens an encoded M or L for editing, or confirms that it is open. False if the value is of
  // another type.
  bool OpenMap();
  bool OpenList();
  std::map<std::string, Node, std::less<>>& map() { return map_; }
  const std::map<std::string, Node, std::less<>>& map() const { return map_; }
  std::vector<Node>& list() { return list_; }
  const std::vector<Node>& list() const { return list_; }

  // Appends the encoded value.
  void AppendTo(std::string* out) const;
  // For a map node: the encoded item.
  std::string EncodeItem() const;

 private:
  void AppendEntries(std::string* out) const;

  Kind kind_ = Kind::kMap;
  std::string_view borrowed_;
  std::string owned_;
  std::map<std::string, Node, std::less<>> map_;
  std::vector<Node> list_;
};

}  // namespace stator::model
