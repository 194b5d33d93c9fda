package dev.genv.enforcer.observation.table;

import java.util.ArrayList;

/** Entries of genv's state files. */
final class StateJson {
    private StateJson() {}

    static String env(String eid, long uid, String user, String pids, String... kernels) {
        return "{\"eid\": \"%s\", \"uid\": %d, \"username\": \"%s\", \"creation\": \"\", \"config\": {}, \"pids\": [%s], \"kernel_ids\": [%s]}"
                .formatted(eid, uid, user, pids, String.join(", ", kernels));
    }

    static String device(int index, String... eids) {
        var attachments = new ArrayList<String>();
        for (var eid : eids) {
            attachments.add("{\"eid\": \"%s\", \"gpu_memory\": null, \"time\": null}".formatted(eid));
        }
        return "{\"index\": %d, \"total_memory\": \"1mi\", \"attachments\": [%s]}"
                .formatted(index, String.join(", ", attachments));
    }
}
