# One room is one folder under src/: a static library of every .cc in it that is no test, and one test binary of its
# *_test.cc. What a room may include is what it USES: the include path is shared, so `./dev rooms` checks the arrows.
#
#   room(api USES ops base LIBS simdjson)
#
# TEST_USES names further rooms that only the tests need.
set(STATOR_ROOMS "" CACHE INTERNAL "rooms declared so far")

function(room name)
  cmake_parse_arguments(R "" "" "USES;LIBS;TEST_USES;TEST_LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(uses "")
  foreach(used ${R_USES})
    list(APPEND uses room_${used})
  endforeach()
  if(sources)
    add_library(room_${name} STATIC ${sources})
    target_include_directories(room_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(room_${name} PUBLIC ${uses} ${R_LIBS} stator_options)
  else()
    add_library(room_${name} INTERFACE)
    target_include_directories(room_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(room_${name} INTERFACE ${uses} ${R_LIBS} stator_options)
  endif()
  set_property(GLOBAL APPEND PROPERTY STATOR_ROOM_ARROWS "${name}: ${R_USES}")

  if(tests AND STATOR_TESTS)
    set(test_uses "")
    foreach(used ${R_TEST_USES})
      list(APPEND test_uses room_${used})
    endforeach()
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE room_${name} ${test_uses} ${R_TEST_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${name}_test TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 600)
  endif()
endfunction()
