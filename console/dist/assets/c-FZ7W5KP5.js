var r=null,t={put(e){r={form:e}},take(){let e=r;return r=null,e}};export{t as a};
