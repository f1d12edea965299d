# Run by ctest: install → configure the example against the installed package → build → run.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK_DIR} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${EXAMPLE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)

function(expect example pattern)
  run(${WORK_DIR}/build/${example})
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${example} printed: ${output}")
  endif()
endfunction()
expect(bee "^random [01]\\.[0-9]+, learnt 1\\.[4-6][0-9]\n$")
expect(control_loop "^mean nectar 1\\.[3-6][0-9], value known to about 0\\.[0-9]+\n$")
expect(ensemble "^one 1\\.[3-6][0-9], three 1\\.[4-6][0-9]\n$")
expect(plant_log "^5000 rows\nscore of the log -0\\.[0-9]+, saved [0-9]+ weights\n$")
expect(slow_actuator "^seed 0: -[0-9]+ knowing it, -[0-9]+ clipped\n$")
expect(thermostat "^random: mean reward -0\\.[0-9]+\nlearnt: mean reward -0\\.[01][0-9]+\n$")

run(${WORK_DIR}/prefix/bin/waggle --version)
if(NOT output MATCHES "^waggle [0-9]+\\.[0-9]+\\.[0-9]+")
  message(FATAL_ERROR "unexpected output: ${output}")
endif()
