"""Which modules of tests ``scripts/test`` runs in which stage."""

from __future__ import annotations

#: They compare seconds, or shares of them, with fixed bounds: nothing runs beside them, and one
#: core is idle meanwhile.
ALONE = frozenset(
    {
        "test_executor",
        "test_measure_worker",
        "test_thread_states",
        "test_truth",
    }
)

#: Each a few seconds at most, together of every folder: ``scripts/test quick``.
QUICK = frozenset(
    {
        "test_attribution",
        "test_attribution_frames",
        "test_attribution_names",
        "test_client",
        "test_client_changes",
        "test_client_interrupted",
        "test_client_keys",
        "test_count_results",
        "test_cull",
        "test_failures",
        "test_forgotten",
        "test_gathering",
        "test_graph_pieces",
        "test_imports",
        "test_keywords",
        "test_memory_sampler",
        "test_nested_futures",
        "test_node",
        "test_observe_dask",
        "test_observed",
        "test_packaging",
        "test_packed_graphs",
        "test_private_folder",
        "test_provenance",
        "test_records_block",
        "test_scatter",
        "test_spill",
        "test_stages",
        "test_steps",
        "test_wire_frame",
        "test_wire_handshake",
        "test_wire_payload",
        "test_worker_pieces",
        "test_worker_tasks",
        "test_written_graphs",
    }
)

#: Quick ones with nothing that a newer Python changes: bytes of the wire, tables of numbers and
#: tasks, files, what pandas draws, scripts of the checkout. The others look at frames, code and
#: signatures, pickle, import, catch signals, or start whole clusters.
_OF_ANY_PYTHON = frozenset(
    {
        "test_count_results",
        "test_cull",
        "test_gathering",
        "test_memory_sampler",
        "test_private_folder",
        "test_records_block",
        "test_spill",
        "test_wire_frame",
        "test_worker_tasks",
    }
)
#: With the newest Python that is declared, in the same run.
NEWEST = QUICK - _OF_ANY_PYTHON

#: What versions of Dask and pandas may change, beside the quick ones: ``scripts/test-versions``.
VERSIONS = frozenset({"test_core_only", "test_dask_equality", "test_living_layers", "test_packs"})

STAGES = {"alone": ALONE, "quick": QUICK}

#: Their workers import Dask at once, beside their first tasks, as those of users do; the others'
#: do not, see `conftest.py`.
DASK_AHEAD = frozenset({"test_client", "test_imports"})

#: The functions of their tasks go to workers by value, see `conftest.py`.
BY_VALUE = frozenset(
    {
        "test_any_frames",
        "test_attribution_cluster",
        "test_bandwidth",
        "test_callbacks",
        "test_client_start",
        "test_clock",
        "test_cluster_control",
        "test_copies",
        "test_default_spans",
        "test_events",
        "test_executions",
        "test_faults",
        "test_forgotten",
        "test_free_memory",
        "test_given_values",
        "test_growth",
        "test_idle",
        "test_in_tasks",
        "test_joblib",
        "test_joined_cluster",
        "test_like_distributed",
        "test_local_cluster",
        "test_logs",
        "test_machinery",
        "test_many_tasks",
        "test_memory_measures",
        "test_meters",
        "test_plugins",
        "test_pressure",
        "test_profile",
        "test_profile_settings",
        "test_progress",
        "test_quirks",
        "test_recording",
        "test_records_like_distributed",
        "test_report",
        "test_resources",
        "test_restrictions",
        "test_run_again",
        "test_run_functions",
        "test_scatter",
        "test_scheduler_plugins",
        "test_scheduler_profile",
        "test_shared_state",
        "test_sharing_results",
        "test_signs",
        "test_spans",
        "test_spans_like_distributed",
        "test_stopped",
        "test_streamed_graphs",
        "test_system",
        "test_task_forks",
        "test_task_options",
        "test_tasks_submit",
        "test_text_snippets",
        "test_thread_states",
        "test_transfer_logs",
        "test_truth",
        "test_worker",
    }
)

#: Their clusters share an observer, see `conftest.py`: each has a cluster, or an observation, for
#: some of its tests, and the start, end and loss of observers are not what they are about.
ONE_OBSERVER = frozenset(
    {
        "test_blocks_on_dask",
        "test_client_on_dask",
        "test_cluster_control",
        "test_dask_attach",
        "test_dask_fine_metrics",
        "test_dask_history",
        "test_dask_running",
        "test_dask_samples",
        "test_default_spans",
        "test_done_callbacks",
        "test_events",
        "test_executions",
        "test_free_memory",
        "test_growth",
        "test_idle",
        "test_joblib",
        "test_joined_cluster",
        "test_local_cluster",
        "test_many_tasks",
        "test_memory_measures",
        "test_meters",
        "test_observe",
        "test_observe_memory",
        "test_observe_pools",
        "test_observe_unchanged",
        "test_plugins",
        "test_pressure",
        "test_profile",
        "test_profile_settings",
        "test_progress",
        "test_queries",
        "test_record_fields",
        "test_report",
        "test_restrictions",
        "test_run_functions",
        "test_scattered_segments",
        "test_scheduler_plugins",
        "test_scheduler_profile",
        "test_shared_state",
        "test_signs",
        "test_spans",
        "test_system",
        "test_task_forks",
        "test_task_options",
        "test_text_snippets",
        "test_transfer_logs",
    }
)

#: Begun first where several processes share the files: who began one of these last would end alone.
LONGEST = (
    "test_default_cluster",
    "test_dask_equality",
    "test_pressure",
    "test_server",
    "test_plugins",
    "test_dask_attach",
    "test_observe_faults",
    "test_observe",
    "test_command_line",
    "test_scheduler_profile",
    "test_text_snippets",
    "test_faults",
    "test_cells",
    "test_growth",
    "test_cluster_control",
    "test_like_distributed",
    "test_dask_bridge",
    "test_worker",
    "test_stopped",
    "test_dask_ends",
    "test_sampler",
    "test_scattered_segments",
    "test_faults_server",
    "test_packs",
    "test_dask_fine_metrics",
    "test_callbacks",
    "test_clocks_apart",
    "test_whole_run",
    "test_progress",
    "test_held_loads",
    "test_client_on_dask",
    "test_dask_release",
    "test_dask_samples",
    "test_benchmarks",
    "test_default_spans",
)
